"""A project's memories, and prompts that concern them or do not, for measuring recall.

``MEMORIES`` are told as observers tell them; each has two prompts of somebody who comes back to
the matter later, in other words than the memory's where people would use other words. ``OTHERS``
concern none of them: work on parts of the same program that nothing is remembered of, everyday
words to an agent, other trades. ``FAILURES`` are outputs of a failing command as it was met and
as it comes again, and ``OTHER_FAILURES`` are none of those. Of all, entries at even places are for tuning (*dev*); nothing
is to be tuned on those at odd places (*test*).
"""

from __future__ import annotations

from typing import NamedTuple


class Memory(NamedTuple):
    type: str
    title: str
    facts: tuple[str, ...]
    prompts: tuple[str, str]


class Failure(NamedTuple):
    command: str
    met: str
    again: str
    fix: str


MEMORIES: tuple[Memory, ...] = (
    Memory(
        "bugfix",
        "Invoice totals are rounded half even, as the ledger does",
        ("billing/total.py: `round()` became `quantize(CENT, ROUND_HALF_EVEN)`",),
        (
            "customers complain that the invoice total is one cent off from the ledger again",
            "which rounding do we use for invoice totals?",
        ),
    ),
    Memory(
        "decision",
        "Sessions live in Redis with a TTL of 12 hours, not in Postgres",
        ("Postgres took 40 writes a second for sessions alone.",),
        (
            "I want to move the session store away from redis, what speaks against it",
            "users are logged out after some hours, is that the TTL of the sessions?",
        ),
    ),
    Memory(
        "bugfix",
        "The webhook retry loop no longer sends duplicate events",
        (
            "webhooks/sender.py marked a delivery as done before the answer came.",
            "An idempotency key goes with each delivery now.",
        ),
        (
            "a merchant says they get the same webhook delivery twice",
            "how do webhook retries avoid duplicate events?",
        ),
    ),
    Memory(
        "discovery",
        "The nightly export holds a table lock for eleven minutes",
        ("`export_orders` runs in one serializable transaction.",),
        (
            "between two and three at night orders hang, could that be the nightly export holding a lock",
            "why does export_orders lock the table for so long",
        ),
    ),
    Memory(
        "feature",
        "Coupons can be limited to one use per customer",
        ("coupons/models.py: new column `per_customer_limit`, checked in `redeem()`.",),
        (
            "extend the coupon limit per customer so that support can reset it",
            "where is the per_customer_limit of a coupon checked?",
        ),
    ),
    Memory(
        "bugfix",
        "Uploads over 8 MB failed because nginx cut the request body",
        ("`client_max_body_size 8m` in deploy/nginx.conf is now 64m.",),
        (
            "large uploads fail with 413, please find out what limits the body size",
            "raise client_max_body_size to 128m",
        ),
    ),
    Memory(
        "decision",
        "All timestamps are stored in UTC; the browser converts",
        ("Reports for the Tokyo office were a day off when the server converted.",),
        (
            "should the server convert timestamps to the user's zone or do we store UTC?",
            "the Tokyo office sees reports with dates that are a day off",
        ),
    ),
    Memory(
        "change",
        "The image pipeline writes WebP thumbnails in three sizes",
        ("thumbs/worker.py: 160, 480 and 960 pixels; JPEG only for old clients.",),
        (
            "add a fourth thumbnail size to the image pipeline",
            "do our thumbnails come as webp or jpeg?",
        ),
    ),
    Memory(
        "bugfix",
        "The search index missed products whose name has an apostrophe",
        ("search/tokenize.py split on the typographic apostrophe only.",),
        (
            "products with an apostrophe in their name cannot be found by search",
            "the tokenizer of the search index breaks names like O'Neill",
        ),
    ),
    Memory(
        "discovery",
        "`PaymentGateway.capture` can be called twice by the order state machine",
        ("A timeout in `authorize` puts the order back to pending.",),
        (
            "we captured a payment twice for one order, how can that happen",
            "refactor PaymentGateway so that capture is safe",
        ),
    ),
    Memory(
        "decision",
        "Feature flags come from flags.yaml in the repository, not from a service",
        ("The flag service was down during two releases.",),
        (
            "let's evaluate a hosted service for feature flags instead of the yaml file",
            "add a flag for the new checkout to flags.yaml",
        ),
    ),
    Memory(
        "bugfix",
        "Mail to addresses with umlauts is sent with SMTPUTF8",
        ("mailer/smtp.py raised UnicodeEncodeError for the recipient.",),
        (
            "mailer raises UnicodeEncodeError for a recipient with an umlaut",
            "does our smtp code support addresses that are not ascii, with umlauts?",
        ),
    ),
    Memory(
        "feature",
        "Rate limits are counted per API key in a sliding window",
        ("`limits/window.lua` runs inside Redis; 600 calls a minute.",),
        (
            "a client with a valid api key gets 429 although they stay under the rate limit",
            "make the sliding window of the rate limits configurable per plan",
        ),
    ),
    Memory(
        "bugfix",
        "The cart lost items when two tabs wrote at once",
        ("cart/store.py now compares a version column before it writes.",),
        (
            "items vanish from the cart if it is open in two tabs",
            "what is the version column in the cart table for?",
        ),
    ),
    Memory(
        "security_note",
        "Password reset tokens are hashed in the database",
        ("auth/reset.py stores SHA-256 of the token and expires it after 30 minutes.",),
        (
            "how long is a password reset token valid, and is it stored in plain text?",
            "write the reset mail anew, the token must expire after an hour",
        ),
    ),
    Memory(
        "discovery",
        "Tests of the scheduler are flaky because they sleep",
        ("tests/test_scheduler.py waits 0.2 s; on the shared runner that is too short.",),
        (
            "test_scheduler fails now and then on the runner, make it less flaky",
            "is there a reason why the scheduler tests sleep?",
        ),
    ),
    Memory(
        "change",
        "The admin pages moved from jQuery to htmx",
        ("admin/static/app.js is gone; partials are in admin/templates/parts.",),
        (
            "is there any jquery left in the admin pages?",
            "write a new admin page, with htmx partials like the others",
        ),
    ),
    Memory(
        "bugfix",
        "Refunds in JPY were multiplied by 100",
        ("Currencies without minor units are listed in money/units.py.",),
        (
            "a refund in yen (JPY) was a hundred times too high",
            "add KWD to the currencies in money/units.py, it has three minor units",
        ),
    ),
    Memory(
        "decision",
        "We keep Celery and do not move to a Postgres queue",
        ("The spike showed 300 jobs a second at most with SKIP LOCKED.",),
        (
            "could we replace celery by a queue in postgres with SKIP LOCKED?",
            "celery eats memory, what were the alternatives we looked at",
        ),
    ),
    Memory(
        "discovery",
        "Slow product pages come from 120 queries for variant prices",
        ("`Variant.price` loads its price list each time.",),
        (
            "product pages take two seconds, I suspect too many queries",
            "Variant.price should be prefetched",
        ),
    ),
    Memory(
        "feature",
        "Orders can be split into several shipments",
        ("shipping/split.py groups lines by warehouse.",),
        (
            "when an order is split into shipments, the shipping fee is charged twice",
            "which rule groups the lines of an order by warehouse?",
        ),
    ),
    Memory(
        "bugfix",
        "The CSV import stopped at a byte order mark",
        ("imports/csv_reader.py opens files as utf-8-sig.",),
        (
            "csv import from excel: the first column has strange bytes, a byte order mark?",
            "csv_reader should also accept utf-16",
        ),
    ),
    Memory(
        "change",
        "Docker images are built on Debian slim, since musl broke lxml",
        ("deploy/Dockerfile: python:3.12-slim; the Alpine build took 14 minutes.",),
        (
            "switch the docker image to alpine to make it smaller",
            "why is our Dockerfile on debian slim",
        ),
    ),
    Memory(
        "bugfix",
        "Stock went negative when a reservation expired during checkout",
        ("inventory/reserve.py locks the row with FOR UPDATE before it counts.",),
        (
            "we have negative stock again for two articles after the checkout rush",
            "explain the row lock in inventory/reserve.py",
        ),
    ),
    Memory(
        "decision",
        "Public API errors follow RFC 9457 problem documents",
        ("api/problems.py has one class for each type of problem.",),
        (
            "which format do the errors of the public api have?",
            "add a problem type for expired api credentials in api/problems.py",
        ),
    ),
    Memory(
        "discovery",
        "The recommendations job reads all orders of three years into memory",
        ("recommend/train.py needs 19 GB; the worker has 16.",),
        (
            "the recommendations job was killed by the OOM killer",
            "train.py must stream the orders instead of loading three years into memory",
        ),
    ),
    Memory(
        "bugfix",
        "Tax for Northern Ireland uses the EU scheme for goods",
        ("tax/rules.py looks at the postcode area BT.",),
        (
            "what VAT do we charge for goods sent to Northern Ireland?",
            "tax rules: a customer in Belfast, postcode BT1, got the wrong scheme",
        ),
    ),
    Memory(
        "feature",
        "Support can impersonate a customer for fifteen minutes",
        ("support/impersonate.py writes each use to the audit log.",),
        (
            "does it show in the audit log when support impersonates somebody?",
            "impersonation should end when the support agent logs out",
        ),
    ),
    Memory(
        "bugfix",
        "GraphQL queries deeper than ten levels are refused",
        ("A query with 400 levels kept a worker busy for a minute.",),
        (
            "graphql: the mobile app needs a query with twelve levels and is refused",
            "do we protect graphql from deeply nested queries?",
        ),
    ),
    Memory(
        "change",
        "Logs are JSON lines with a request id",
        ("logging/setup.py; the id comes from the header X-Request-Id.",),
        (
            "how do I follow one request through the logs, is there a request id?",
            "please put the customer's number into the JSON log lines as well",
        ),
    ),
    Memory(
        "discovery",
        "Gift cards are not part of the revenue report",
        ("reports/revenue.sql joins payments with kind 'card' only.",),
        (
            "finance says the revenue report leaves out gift cards",
            "can gift cards be included in revenue.sql without counting them twice",
        ),
    ),
    Memory(
        "bugfix",
        "Address autocompletion sent a request for every key",
        ("checkout/address.ts waits 250 ms (debounce) and aborts the older request.",),
        (
            "address autocompletion shows results of an older request, check the debounce",
            "why is there a delay of 250 ms in address.ts?",
        ),
    ),
    Memory(
        "decision",
        "Migrations never drop a column in the release that stops using it",
        ("Rolling deploys run old and new code together for ten minutes.",),
        (
            "write a migration that drops the column legacy_sku which this release stops using",
            "rolling deploys: can a migration rename a column that old code uses?",
        ),
    ),
    Memory(
        "feature",
        "Wish lists can be shared by a link",
        ("wishlist/share.py makes a token of 22 characters; it can be revoked.",),
        (
            "revoke a shared wish list: does the link stop working at once?",
            "someone guessed the link of a wish list, how long is the token",
        ),
    ),
    Memory(
        "bugfix",
        "The Stripe client times out after 10 seconds instead of 80",
        ("payments/stripe_client.py sets `max_network_retries = 2`.",),
        (
            "stripe calls block the checkout for more than a minute, is there a timeout?",
            "set max_network_retries in stripe_client to 3",
        ),
    ),
    Memory(
        "discovery",
        "The Terraform state of staging is locked by a dead pipeline",
        ("`terraform force-unlock` with the id in infra/README.md helped.",),
        (
            "terraform apply says that the state is locked on staging",
            "document how to use force-unlock for terraform",
        ),
    ),
    Memory(
        "bugfix",
        "修复了订单金额在退款后没有重新计算的问题",
        ("billing/refund.py 现在会调用 recalculate_total。",),
        ("退款以后订单金额不对，是不是没有重新计算", "订单金额什么时候重新计算？"),
    ),
    Memory(
        "decision",
        "缓存统一使用 Redis，不再使用本地内存缓存",
        ("多台服务器之间的本地缓存不一致。",),
        ("本地内存缓存和 Redis 缓存我们选了哪个", "为什么不能用本地缓存？"),
    ),
    Memory(
        "discovery",
        "导出报表很慢是因为没有使用分页查询",
        ("一次读取了全部 80 万行。",),
        ("导出报表太慢了，帮我看看分页查询", "报表导出慢的原因是什么"),
    ),
    Memory(
        "bugfix",
        "ログイン画面で全角文字のパスワードが拒否される不具合を修正",
        ("auth/password.py で NFKC 正規化を行う。",),
        (
            "全角文字のパスワードでログインできない",
            "ログイン画面のパスワードの正規化はどうなっていますか",
        ),
    ),
    Memory(
        "decision",
        "在庫の同期はバッチではなくイベントで行う",
        ("夜間バッチでは在庫が最大八時間ずれていた。",),
        ("在庫の同期をバッチに戻したい", "在庫がずれるのはなぜ？イベントの同期を確認して"),
    ),
    Memory(
        "bugfix",
        "배송 알림이 두 번 발송되는 문제를 수정",
        ("notify/worker.py 에서 중복 키를 확인한다.",),
        ("배송 알림이 또 두 번 발송됐어요", "배송 알림 중복 키는 어디서 확인하나요"),
    ),
    Memory(
        "feature",
        "상품 리뷰에 사진을 첨부할 수 있다",
        ("사진은 최대 다섯 장, 각 4 MB.",),
        (
            "상품 리뷰 사진을 열 장까지 첨부하게 해 주세요",
            "리뷰에 첨부하는 사진 크기 제한이 얼마였지",
        ),
    ),
    Memory(
        "bugfix",
        "Sửa lỗi giỏ hàng tính sai phí vận chuyển cho đơn hàng miễn phí",
        ("shipping/fee.py bỏ qua mã giảm giá.",),
        ("giỏ hàng lại tính sai phí vận chuyển", "phí vận chuyển của đơn hàng miễn phí tính ở đâu"),
    ),
    Memory(
        "decision",
        "Dùng hàng đợi RabbitMQ cho thông báo đẩy",
        ("Redis pub/sub làm mất thông báo khi khởi động lại.",),
        (
            "thông báo đẩy bị mất khi khởi động lại",
            "tại sao mình dùng RabbitMQ cho hàng đợi thông báo",
        ),
    ),
    Memory(
        "bugfix",
        "Rechnungen für Kleinunternehmer enthalten keine Umsatzsteuer mehr",
        ("billing/tax_de.py prüft das Feld `kleinunternehmer`.",),
        (
            "bei Kleinunternehmern steht wieder Umsatzsteuer auf der Rechnung",
            "wo wird das Feld kleinunternehmer geprüft?",
        ),
    ),
    Memory(
        "discovery",
        "Der Lagerabgleich läuft doppelt, weil zwei Timer aktiv sind",
        ("`abgleich.timer` und ein Cronjob starten dasselbe Skript.",),
        (
            "der Lagerabgleich läuft in letzter Zeit doppelt",
            "schalte den Cronjob für den Lagerabgleich ab und lass nur den Timer",
        ),
    ),
    Memory(
        "bugfix",
        "Les remises cumulées pouvaient dépasser le prix du panier",
        ("panier/remise.py plafonne la remise au montant.",),
        (
            "le panier affiche un prix négatif quand on cumule les remises",
            "où est-ce que la remise est plafonnée ?",
        ),
    ),
)

OTHERS: tuple[str, ...] = (
    "continue",
    "yes, do it",
    "looks good, please commit this with a good message",
    "run the tests and fix what fails",
    "what did you just change?",
    "thanks! now the same for the other file",
    "undo the last edit",
    "explain this repository to me",
    "hello",
    "write a haiku about spring rain",
    "what is the capital of Australia?",
    "translate the sentence 'the cat sleeps' into French",
    "summarise this conversation in three sentences",
    "which files did we touch so far?",
    "please add type hints everywhere in this module",
    "rename the variable x to width in geometry.py",
    "add a dark mode to the settings screen",
    "write a README with install instructions",
    "set up pre-commit with ruff and mypy",
    "upgrade to Python 3.13 and see what breaks",
    "the build is red, look at the last job",
    "write unit tests for the new parser of chess notation",
    "create a bar chart of temperatures with matplotlib",
    "implement binary search in Rust and benchmark it",
    "how do I exit vim?",
    "what does the walrus operator do in python",
    "make the button on the landing page blue and a bit larger",
    "the sidebar overlaps the footer on small screens",
    "add a cookie banner with an opt out",
    "write a script that renames my holiday photos by date",
    "draft an email to the team about the offsite on friday",
    "plan a database schema for a library of books and readers",
    "generate an OpenAPI client for the weather service",
    "convert this shell script to PowerShell",
    "why is my laptop fan so loud",
    "refactor the logger into its own package and publish it",
    "bump the version to 2.4.0 and tag it",
    "delete all unused imports",
    "can you review the diff for style?",
    "find dead code and remove it",
    "add a loading spinner to the profile page",
    "implement pagination for the blog's comments",
    "use a websocket for the chat widget",
    "add a page with the opening hours of our stores",
    "let people change the avatar in their profile",
    "the newsletter form should ask for the first name too",
    "write a Kubernetes manifest with two replicas and a probe",
    "set up a staging environment on fly.io",
    "add Prometheus metrics for the garbage collector",
    "measure the code coverage and print the ten worst modules",
    "make the font of the headings Inter",
    "move the documentation to mkdocs",
    "add a sitemap.xml and robots.txt",
    "replace moment.js by date-fns",
    "the favicon is missing",
    "write a parser for ini files without dependencies",
    "solve the eight queens problem in prolog",
    "explain the difference between TCP and UDP to a child",
    "give me five names for a coffee shop",
    "what's the time complexity of merge sort",
    "write a regular expression for ISO dates",
    "can you open the editor settings and turn off autosave?",
    "use tabs instead of spaces in the makefile",
    "add a license header to each source file",
    "the accordion on the faq page does not close",
    "let the user choose a language in the footer",
    "make a storybook for our buttons",
    "add a keyboard shortcut for the command palette",
    "implement oauth login with github",
    "there is a typo on the about page",
    "add a map with our offices",
    "draw a diagram of how the packages depend on each other",
    "record a demo gif for the readme",
    "why does git say detached head",
    "squash the last three commits",
    "rebase this branch onto main and resolve the conflicts",
    "check whether any dependency has a known vulnerability",
    "write a changelog entry for what we did today",
    "show me how to debug this with breakpoints",
    "simplify this function, it has too many branches",
    "port the game of life to WebAssembly",
    "make a cron expression for every second monday",
    "estimate how long it takes to sort a billion integers",
    "how would you test code that uses random numbers?",
    "compare vue and svelte for a small dashboard",
    "write a poem about merge conflicts",
    "帮我写一个快速排序",
    "今天的天气怎么样",
    "把这个按钮改成蓝色",
    "解释一下什么是闭包",
    "请继续",
    "给登录页加一个背景图",
    "このコードを説明してください",
    "続けてください",
    "ボタンの色を青にしてほしい",
    "README を英語に翻訳して",
    "계속해 주세요",
    "이 함수를 설명해 줘",
    "다크 모드를 추가해 줘",
    "giải thích đoạn mã này cho tôi",
    "viết một bài thơ về mùa xuân",
    "tiếp tục đi",
    "schreibe ein Gedicht über den Herbst",
    "bitte mach weiter",
    "erkläre mir den Unterschied zwischen Liste und Tupel",
    "füge eine Seite mit dem Impressum hinzu",
    "explique-moi la récursivité",
    "ajoute un mode sombre",
    "added by accident: revert the formatting of the whole repo, keep only my change",
    "I pasted the wrong thing, ignore that",
    # Near to what is remembered, and yet about something else.
    "add a dark mode toggle to the account settings page",
    "why is the docker build cache never hit on CI",
    "the order confirmation email should include the tracking number",
    "please write a README section on local setup with postgres and redis",
    "bump stripe to the newest version and fix type errors",
    "can we delete the jpeg files older than a year from the bucket",
    "write a unit test for the address form validation",
    "the customer table has duplicate emails, dedupe them",
    "add an index on orders.created_at",
    "support wants an export of all open tickets as csv",
    "how do I run a single test file",
    'I get "connection refused" from redis in docker compose',
    "rename cart to basket everywhere in the UI",
    "add pagination to the admin order list",
    "the product image is not centered on mobile",
    "let us use ruff instead of flake8",
    "translate the checkout page to French",
    "which python version do we support",
    "the login page should remember the email address",
    "make the search box wider and add a placeholder",
    "add a health check endpoint for the load balancer",
    "write a migration that adds a phone column to customers",
    "log the user id with each request at debug level",
    "the currency symbol is missing in the invoice PDF",
    "show stock level on the product page",
    "remove the unused feature flag new_header",
    "add a unit test for the coupon form",
    "set up sentry for the frontend",
    "customer asks for an invoice copy, where is the endpoint",
    "fix the typo in the refund mail template",
    "订单列表页面加一个筛选按钮",
    "请写一个单元测试",
    "ログイン画面のボタンの色を変えて",
    "주문 목록 페이지에 검색창을 추가해줘",
    "Bitte aktualisiere die Abhängigkeiten und die Rechnung im Demo",
    "why does the terraform plan want to recreate the database",
    "run the migrations on staging please",
    "send a webhook test event from the CLI",
    "make celery log to stdout",
    "what does the X-Forwarded-For header contain behind nginx",
)

FAILURES: tuple[Failure, ...] = (
    Failure(
        "pytest -q tests/api",
        "tests/api/test_orders.py:41: in test_total_of_empty_order\nE   AssertionError: assert None == Decimal('0')\nFAILED tests/api/test_orders.py::test_total_of_empty_order - AssertionError\n1 failed, 211 passed in 3.10s",
        "tests/api/test_orders.py:58: in test_total_of_empty_order\nE   AssertionError: assert None == Decimal('0.00')\nFAILED tests/api/test_orders.py::test_total_of_empty_order - AssertionError\n1 failed, 240 passed in 9.77s",
        "An empty order has a total of zero",
    ),
    Failure(
        "npm run build",
        'error during build:\n[vite]: Rollup failed to resolve import "./charts/legend" from "/home/dev/shop/web/report.js".',
        'vite v7.1 building for production...\nerror during build:\n[vite]: Rollup failed to resolve import "./charts/legend" from "/home/dev/shop/web/report.js".',
        "Renamed charts/Legend.js, which a case-sensitive disk did not find",
    ),
    Failure(
        "cargo test",
        "thread 'parser::keeps_order' panicked at src/parser.rs:88:9:\nindex out of bounds: the len is 0 but the index is 0\ntest result: FAILED. 8 passed; 1 failed",
        "thread 'parser::keeps_order' panicked at src/parser.rs:120:14:\nindex out of bounds: the len is 0 but the index is 3\ntest result: FAILED. 19 passed; 1 failed",
        "The parser accepts a file without entries",
    ),
    Failure(
        "docker compose up",
        "Error response from daemon: driver failed programming external connectivity on endpoint shop-db: Bind for 0.0.0.0:5432 failed: port is already allocated",
        "Error response from daemon: driver failed programming external connectivity on endpoint shop-db (9f8e7d6c5b4a): Bind for 0.0.0.0:5432 failed: port is already allocated",
        "The database of the shop listens on 5433 now",
    ),
    Failure(
        "python manage.py migrate",
        'django.db.utils.ProgrammingError: column "legacy_sku" of relation "products" does not exist',
        '  Applying catalog.0042_sku...\ndjango.db.utils.ProgrammingError: column "legacy_sku" of relation "products" does not exist\nLINE 1: ALTER TABLE',
        "Migration 0041 drops legacy_sku only where it is there",
    ),
    Failure(
        "go test ./...",
        "--- FAIL: TestHubDeliversEverything (0.52s)\n    hub_test.go:41: got 98 messages, want 100\nFAIL\texample.com/ws\t0.911s",
        "--- FAIL: TestHubDeliversEverything (1.40s)\n    hub_test.go:44: got 61 messages, want 100\nFAIL\texample.com/ws\t2.030s",
        "The hub drains its queue before it closes",
    ),
    Failure(
        "mypy s3",
        's3/upload.py:12: error: Name "retry_with_backoff" is not defined  [name-defined]\nFound 1 error in 1 file',
        's3/upload.py:19: error: Name "retry_with_backoff" is not defined  [name-defined]\nFound 1 error in 1 file (checked 8 source files)',
        "retry_with_backoff lives in s3/retry.py",
    ),
    Failure(
        "terraform apply",
        "Error: Error acquiring the state lock\n\nError message: ConditionalCheckFailedException: The conditional request failed\nLock Info:\n  ID: 3f2a1b0c-1111",
        "Error: Error acquiring the state lock\n\nError message: ConditionalCheckFailedException: The conditional request failed\nLock Info:\n  ID: a9b8c7d6-2222",
        "A dead pipeline held the state lock; force-unlock frees it",
    ),
)

OTHER_FAILURES: tuple[str, ...] = (
    "",
    "make: *** [Makefile:12: test] Error 2",
    "bash: jq: command not found",
    "FAILED tests/api/test_orders.py::test_total_with_coupon - AssertionError\n1 failed, 211 passed",
    'error during build:\n[vite]: Rollup failed to resolve import "./maps/world" from "/home/dev/shop/web/map.js".',
    "thread 'lexer::skips_comments' panicked at src/lexer.rs:31:5:\ncalled `Option::unwrap()` on a `None` value",
    "ModuleNotFoundError: No module named 'yaml'",
    "fatal: not a git repository (or any of the parent directories): .git",
    "ls: cannot access 'build': No such file or directory",
    "django.db.utils.OperationalError: could not connect to server: Connection refused",
    "--- FAIL: TestRouterMatchesLongest (0.00s)\n    router_test.go:9: got /a, want /a/b",
    's3/download.py:3: error: Name "chunked" is not defined  [name-defined]',
    'Error: Unsupported attribute\n\n  on main.tf line 12, in resource "aws_s3_bucket" "logs":',
    "npm error ERESOLVE unable to resolve dependency tree",
    "rsync: connection unexpectedly closed (0 bytes received so far)",
    "Traceback (most recent call last):\n  File \"x.py\", line 1, in <module>\nKeyError: 'a'",
    "error: failed to push some refs to 'origin'",
    "SyntaxError: invalid syntax",
    "curl: (6) Could not resolve host: example.invalid",
    "Segmentation fault (core dumped)",
)
