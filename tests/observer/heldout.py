"""Written sessions in languages and styles that no rule was made for: Italian, Portuguese,
Polish, Turkish, Arabic, Hindi, Thai, and hasty English without capitals.

What the rules kept of them at first sight, before anything was changed, is the fair figure: it
stands in docs/benchmarks.md. ``planted`` explains the form.
"""

from __future__ import annotations

from planted import Session, Turn

SESSIONS = {
    "it php coupon": Session(
        (
            Turn(
                "Il totale del carrello è sbagliato quando ci sono due coupon, puoi sistemarlo?",
                "Ho trovato il problema: `CartTotal::apply()` sottraeva il secondo coupon dal prezzo di listino invece che dal subtotale.\n\n"
                "Ho corretto `src/Cart/CartTotal.php` e ora gli sconti vengono applicati in ordine di `priority`, perché il reparto vendite li ordina così.\n\n"
                "Resta da fare: la cache dei prezzi in Redis va svuotata dopo il rilascio.",
                (
                    (
                        "bash",
                        "vendor/bin/phpunit --filter CartTotal",
                        "PHPUnit 10.5.20 by Sebastian Bergmann and contributors.\n\n.F...                                                               5 / 5 (100%)\n\nThere was 1 failure:\n\n1) App\\Tests\\Cart\\CartTotalTest::testTwoCoupons\nFailed asserting that 71.0 matches expected 72.9.\n\n/srv/app/tests/Cart/CartTotalTest.php:58\n\nFAILURES!\nTests: 5, Assertions: 14, Failures: 1.",
                        1,
                    ),
                    (
                        "edit",
                        "src/Cart/CartTotal.php",
                        "        $total -= $coupon->of($this->listPrice);",
                        "        $total -= $coupon->of($total);",
                    ),
                    (
                        "bash",
                        "vendor/bin/phpunit --filter CartTotal",
                        "PHPUnit 10.5.20 by Sebastian Bergmann and contributors.\n\n.....                                                               5 / 5 (100%)\n\nOK (5 tests, 14 assertions)",
                        0,
                    ),
                ),
            ),
            Turn(
                "Perfetto. Non usare mai float per i prezzi, solo interi in centesimi.",
                "D'accordo, da ora in poi uso solo interi in centesimi per i prezzi.",
            ),
        ),
        (
            "sottraeva il secondo coupon dal prezzo di listino",
            "in ordine di `priority`, perché il reparto vendite li ordina così",
            "la cache dei prezzi in Redis va svuotata dopo il rilascio",
            "Failed asserting that 71.0 matches expected 72.9",
            "testTwoCoupons",
            "OK (5 tests, 14 assertions)",
            "$coupon->of($this->listPrice) & $coupon->of($total)",
            "Non usare mai float per i prezzi, solo interi in centesimi",
        ),
    ),
    "pt kotlin paging": Session(
        (
            Turn(
                "Adiciona paginação no endpoint /orders. Não use offset, quero cursor.",
                "Prontinho! Adicionei paginação por cursor em `OrderController.kt`: o cursor codifica `createdAt` e `id` em base64.\n\n"
                "- O limite máximo é 200 itens por página\n"
                "- Um cursor inválido devolve 400 com o código `BAD_CURSOR`\n\n"
                "Falta documentar o parâmetro `after` no OpenAPI.",
                (
                    (
                        "edit",
                        "src/main/kotlin/shop/OrderController.kt",
                        '    @GetMapping("/orders")\n    fun list() = repo.findAll()',
                        '    @GetMapping("/orders")\n    fun list(@RequestParam after: String?, @RequestParam limit: Int = 50) = repo.page(Cursor.parse(after), limit.coerceAtMost(200))',
                    ),
                    (
                        "write",
                        "src/main/kotlin/shop/Cursor.kt",
                        "package shop\n\ndata class Cursor(val at: Instant, val id: Long) {\n    companion object {\n        fun parse(text: String?): Cursor? = null\n    }\n}\n",
                    ),
                    (
                        "bash",
                        "./gradlew test",
                        "> Task :compileKotlin FAILED\ne: file:///srv/app/src/main/kotlin/shop/Cursor.kt:3:30 Unresolved reference: Instant\n\nFAILURE: Build failed with an exception.\n\n* What went wrong:\nExecution failed for task ':compileKotlin'.\n> Compilation error. See log for more details\n\nBUILD FAILED in 6s",
                        1,
                    ),
                    (
                        "edit",
                        "src/main/kotlin/shop/Cursor.kt",
                        "package shop\n",
                        "package shop\n\nimport java.time.Instant\n",
                    ),
                    (
                        "bash",
                        "./gradlew test",
                        "> Task :test\n\nBUILD SUCCESSFUL in 14s\n5 actionable tasks: 3 executed, 2 up-to-date",
                        0,
                    ),
                    (
                        "bash",
                        "git commit -am 'feat: paginação por cursor em /orders'",
                        "[main 7c1d9ab] feat: paginação por cursor em /orders\n 2 files changed, 14 insertions(+), 2 deletions(-)",
                        0,
                    ),
                ),
            ),
        ),
        (
            "o cursor codifica `createdAt` e `id` em base64",
            "O limite máximo é 200 itens por página",
            "`BAD_CURSOR`",
            "Falta documentar o parâmetro `after` no OpenAPI",
            "Não use offset",
            "Unresolved reference: Instant",
            "BUILD SUCCESSFUL",
            "7c1d9ab & paginação por cursor em /orders",
        ),
        ("Prontinho",),
    ),
    "pl csharp invoice": Session(
        (
            Turn(
                "Test InvoiceNumber pada raz na kilka uruchomień, sprawdź dlaczego",
                "Przyczyną był wyścig: `InvoiceSequence.Next()` czytał i zwiększał licznik bez blokady.\n\n"
                "Poprawiłem to, używając `Interlocked.Increment`. Numeracja zaczyna się teraz od wartości z bazy, ponieważ księgowość nie dopuszcza luk.",
                (
                    (
                        "bash",
                        "dotnet test --filter InvoiceNumber",
                        "  Failed InvoiceNumber_IsUnique [41 ms]\n  Error Message:\n   Assert.Equal() Failure: Values differ\nExpected: 1000\nActual:   997\n  Stack Trace:\n     at Billing.Tests.InvoiceTests.InvoiceNumber_IsUnique() in /srv/app/tests/InvoiceTests.cs:line 33\n\nFailed!  - Failed:     1, Passed:     3, Skipped:     0, Total:     4, Duration: 88 ms - Billing.Tests.dll (net8.0)",
                        1,
                    ),
                    (
                        "edit",
                        "src/Billing/InvoiceSequence.cs",
                        "        return ++_last;",
                        "        return Interlocked.Increment(ref _last);",
                    ),
                    (
                        "bash",
                        "dotnet test --filter InvoiceNumber",
                        "Passed!  - Failed:     0, Passed:     4, Skipped:     0, Total:     4, Duration: 74 ms - Billing.Tests.dll (net8.0)",
                        0,
                    ),
                ),
            ),
            Turn(
                "Dodaj Polly do ponowień, ale nie aktualizuj pozostałych pakietów",
                "Dodałem `Polly` 8.4.1 i ponawianie z wykładniczym opóźnieniem w `KsefClient`: trzy próby, maksymalnie 20 s.",
                (
                    (
                        "bash",
                        "dotnet add src/Billing package Polly --version 8.4.1",
                        "info : PackageReference for package 'Polly' version '8.4.1' added to file '/srv/app/src/Billing/Billing.csproj'.",
                        0,
                    ),
                    (
                        "edit",
                        "src/Billing/KsefClient.cs",
                        "        return await _http.PostAsync(url, body);",
                        "        return await _retry.ExecuteAsync(() => _http.PostAsync(url, body));",
                    ),
                ),
            ),
        ),
        (
            "`InvoiceSequence.Next()` czytał i zwiększał licznik bez blokady",
            "ponieważ księgowość nie dopuszcza luk",
            "expected 1000, received 997",
            "InvoiceNumber_IsUnique",
            "Passed: 4",
            "return ++_last & Interlocked.Increment(ref _last)",
            "nie aktualizuj pozostałych pakietów",
            "`Polly` 8.4.1",
            "trzy próby, maksymalnie 20 s",
        ),
    ),
    "tr ansible proxy": Session(
        (
            Turn(
                "nginx'te yükleme sınırını 50 MB yap. Sertifika ayarlarına dokunma.",
                "Tamamdır! `client_max_body_size` değerini 50m yaptım ve `proxy_read_timeout` değerini 120 saniyeye çıkardım, çünkü büyük dosyalar 60 saniyede zaman aşımına uğruyordu.\n\n"
                "Kalan iş: staging sunucusunda playbook henüz çalıştırılmadı.",
                (
                    (
                        "edit",
                        "roles/nginx/templates/site.conf.j2",
                        "    client_max_body_size 8m;\n    proxy_read_timeout 60s;",
                        "    client_max_body_size 50m;\n    proxy_read_timeout 120s;",
                    ),
                    (
                        "bash",
                        "ansible-playbook -i inventory/prod site.yml --tags nginx",
                        'TASK [nginx : validate] ***\nfatal: [web1]: FAILED! => {"changed": false, "msg": "nginx: [emerg] host not found in upstream \\"app\\""}\n\nPLAY RECAP ***\nweb1 : ok=4 changed=1 unreachable=0 failed=1 skipped=0',
                        2,
                    ),
                    (
                        "edit",
                        "roles/nginx/templates/site.conf.j2",
                        "    proxy_pass http://app;",
                        "    proxy_pass http://{{ app_upstream }};",
                    ),
                    (
                        "bash",
                        "ansible-playbook -i inventory/prod site.yml --tags nginx",
                        "PLAY RECAP ***\nweb1 : ok=6 changed=2 unreachable=0 failed=0 skipped=0",
                        0,
                    ),
                ),
            ),
        ),
        (
            "client_max_body_size 8m & client_max_body_size 50m",
            "120 saniyeye çıkardım, çünkü büyük dosyalar 60 saniyede zaman aşımına uğruyordu",
            "staging sunucusunda playbook henüz çalıştırılmadı",
            "Sertifika ayarlarına dokunma",
            "host not found in upstream",
            "ok=6 & failed=0",
        ),
        ("Tamamdır",),
    ),
    "ar django report": Session(
        (
            Turn(
                "لماذا يستغرق تقرير المبيعات أكثر من دقيقة؟",
                "السبب هو أن `SalesReport.rows()` ينفذ استعلاما لكل طلب، أي 4312 استعلاما في التقرير الواحد.\n\n"
                "يمكن حلها باستخدام `select_related('customer')` في `reports/sales.py`.",
                (
                    (
                        "read",
                        "reports/sales.py",
                        "def rows(self):\n    for order in Order.objects.all():\n        yield order.customer.name, order.total\n",
                    ),
                    (
                        "bash",
                        "python manage.py profile_report sales",
                        "queries: 4312\ntotal: 71.4 s",
                        0,
                    ),
                ),
            ),
            Turn(
                "نفذ الحل، لكن لا تغير شكل ملف CSV",
                "تم! أضفت `select_related('customer')` فانخفض الزمن من 71 ثانية إلى 1.9 ثانية. بقي ترتيب أعمدة CSV كما هو.",
                (
                    (
                        "edit",
                        "reports/sales.py",
                        "    for order in Order.objects.all():",
                        "    for order in Order.objects.select_related('customer'):",
                    ),
                    (
                        "bash",
                        "python manage.py test reports",
                        "Found 11 test(s).\n...........\n----------------------------------------------------------------------\nRan 11 tests in 0.412s\n\nOK",
                        0,
                    ),
                ),
            ),
        ),
        (
            "ينفذ استعلاما لكل طلب",
            "4312 استعلاما",
            "لا تغير شكل ملف CSV",
            "من 71 ثانية إلى 1.9 ثانية",
            "Order.objects.all() & Order.objects.select_related('customer')",
            "Ran 11 tests & OK",
        ),
    ),
    "hi flutter login": Session(
        (
            Turn(
                "लॉगिन स्क्रीन पर कीबोर्ड खुलते ही overflow आ रहा है, ठीक करो",
                "ठीक कर दिया। कारण यह था कि `LoginForm` एक `Column` में था जो स्क्रॉल नहीं होता था। अब यह `SingleChildScrollView` में है।\n\n"
                "ध्यान दें: छोटे फ़ोन पर लोगो अब 96 px का है, क्योंकि 140 px में बटन छिप जाता था।",
                (
                    (
                        "bash",
                        "flutter test test/login_test.dart",
                        "00:02 +1 -1: login fits with the keyboard open [E]\n  A RenderFlex overflowed by 87 pixels on the bottom.\n  test/login_test.dart 22:5  main.<fn>\n00:02 +1 -1: Some tests failed.",
                        1,
                    ),
                    (
                        "edit",
                        "lib/login_form.dart",
                        "    return Column(children: fields);",
                        "    return SingleChildScrollView(child: Column(children: fields));",
                    ),
                    ("bash", "flutter test test/login_test.dart", "00:02 +2: All tests passed!", 0),
                ),
            ),
            Turn(
                "Firebase Analytics मत जोड़ो, हम Matomo इस्तेमाल करेंगे",
                "समझ गया, Firebase Analytics नहीं जोड़ूँगा।",
            ),
        ),
        (
            "`LoginForm` एक `Column` में था जो स्क्रॉल नहीं होता था",
            "क्योंकि 140 px में बटन छिप जाता था",
            "A RenderFlex overflowed by 87 pixels on the bottom",
            "login fits with the keyboard open",
            "All tests passed!",
            "return Column(children: fields) & SingleChildScrollView(child: Column",
            "Firebase Analytics मत जोड़ो, हम Matomo इस्तेमाल करेंगे",
        ),
    ),
    "th rails stock": Session(
        (
            Turn(
                "เพิ่มการแจ้งเตือนเมื่อสินค้าเหลือน้อยกว่า 5 ชิ้น ห้ามส่งอีเมลซ้ำในวันเดียวกัน",
                "เรียบร้อยแล้ว เพิ่ม `LowStockJob` ที่ส่งอีเมลวันละครั้งต่อสินค้า โดยเก็บเวลาส่งล่าสุดใน `products.low_stock_notified_at`\n\n"
                "ใช้ `find_each` เพราะตารางสินค้ามีมากกว่า 2 ล้านแถว",
                (
                    (
                        "write",
                        "app/jobs/low_stock_job.rb",
                        "class LowStockJob < ApplicationJob\n  def perform\n    Product.low_stock.find_each { |p| StockMailer.low(p).deliver_later }\n  end\nend\n",
                    ),
                    (
                        "bash",
                        "bundle exec rspec spec/jobs/low_stock_job_spec.rb",
                        "F.\n\nFailures:\n\n  1) LowStockJob does not notify twice a day\n     Failure/Error: expect { 2.times { described_class.perform_now } }.to change { deliveries }.by(1)\n       expected `deliveries` to have changed by 1, but was changed by 2\n     # ./spec/jobs/low_stock_job_spec.rb:14:in `block (2 levels) in <top (required)>'\n\nFinished in 0.31 seconds\n2 examples, 1 failure\n\nFailed examples:\n\nrspec ./spec/jobs/low_stock_job_spec.rb:12 # LowStockJob does not notify twice a day",
                        1,
                    ),
                    (
                        "edit",
                        "app/jobs/low_stock_job.rb",
                        "    Product.low_stock.find_each",
                        "    Product.low_stock.not_notified_today.find_each",
                    ),
                    (
                        "bash",
                        "bundle exec rspec spec/jobs/low_stock_job_spec.rb",
                        "..\n\nFinished in 0.29 seconds\n2 examples, 0 failures",
                        0,
                    ),
                ),
            ),
        ),
        (
            "`products.low_stock_notified_at`",
            "เพราะตารางสินค้ามีมากกว่า 2 ล้านแถว",
            "ห้ามส่งอีเมลซ้ำในวันเดียวกัน",
            "expected `deliveries` to have changed by 1, but was changed by 2",
            "LowStockJob does not notify twice a day",
            "2 examples, 0 failures",
            "Product.low_stock.find_each & not_notified_today.find_each",
        ),
    ),
    "en hasty and lower case": Session(
        (
            Turn(
                "yo ci is red again on the arm runner, wtf",
                "yeah so the arm image has no `libvips`, sharp falls back to building from source and dies. pinned `sharp` to 0.33.4 which ships arm64 binaries",
                (
                    (
                        "bash",
                        "gh run view 8812 --log-failed | tail -20",
                        "sharp: Installation error: Please add node-gyp to your dependencies\nnpm ERR! code 1\nnpm ERR! path /app/node_modules/sharp\nnpm ERR! command failed",
                        0,
                    ),
                    (
                        "edit",
                        "package.json",
                        '    "sharp": "^0.32.6",',
                        '    "sharp": "0.33.4",',
                    ),
                    (
                        "bash",
                        "npm ci && npm test",
                        "Test Suites: 1 failed, 17 passed, 18 total\nTests:       1 failed, 203 passed, 204 total\n\n● thumbs › keeps exif orientation\n\n    expect(received).toBe(expected)\n\n    Expected: 6\n    Received: 1",
                        1,
                    ),
                ),
            ),
            Turn(
                "dont touch the exif test, fix the code. and no more carets in package.json, pin everything",
                "fixed, `resize()` dropped exif since 0.33, needs `.withMetadata()` now. also pinned the remaining 14 deps",
                (
                    (
                        "edit",
                        "src/thumbs.ts",
                        "  return sharp(input).resize(w).toBuffer()",
                        "  return sharp(input).resize(w).withMetadata().toBuffer()",
                    ),
                    (
                        "bash",
                        "npm test",
                        "Test Suites: 18 passed, 18 total\nTests:       204 passed, 204 total",
                        0,
                    ),
                    (
                        "bash",
                        'git commit -am "fix: keep exif in thumbs, pin deps"',
                        "[ci-arm 91be0f2] fix: keep exif in thumbs, pin deps\n 2 files changed, 17 insertions(+), 17 deletions(-)",
                        0,
                    ),
                ),
            ),
        ),
        (
            "the arm image has no `libvips`",
            "^0.32.6 & 0.33.4",
            "keeps exif orientation",
            "expected 6, received 1",
            "dont touch the exif test",
            "no more carets in package.json, pin everything",
            "`resize()` dropped exif since 0.33, needs `.withMetadata()` now",
            "204 passed",
            "91be0f2 & keep exif in thumbs, pin deps",
        ),
    ),
}
