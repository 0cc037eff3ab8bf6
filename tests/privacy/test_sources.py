"""What a tool reads or writes of a secret source goes, however the source is named."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cmem.hosts.wire import HOSTS
from cmem.privacy import gates
from cmem.privacy.scrub import scrub_payload
from cmem.privacy.sources import is_command, is_path

SHAPE = HOSTS["claude-code"].shape
NOTE = "[REDACTED:sensitive-source]"

COMMANDS = [
    "git show HEAD:.env", "git show HEAD:app/.env", "bash -c env", 'sh -c "printenv"',
    "bash -lc 'env | sort'", "docker exec x env", "docker exec -it x printenv",
    "docker compose exec web env", "docker run --rm img env", "kubectl exec p -- env",
    "ssh h env", "ssh -p 22 u@h 'env'", "time env", "A=1 env", "A=1 B='2' printenv", "nohup env &",
    "env\t", "env\t| sort", "\tenv", "export", "x; export | grep K", "declare -p", "declare -p K",
    "cat /proc/1/environ", "tr '\\0' '\\n' < /proc/self/environ", "cat /proc/$(pgrep x)/environ",
    "kubectl describe secret x", "kubectl get -n a secrets", "kubectl get -o yaml secret/x",
    "docker compose config", "docker-compose -f x.yml config", "gh auth status -t",
    "gh auth status --show-token", "op item get x", "pass x", "pass web/mail | head -1",
    "aws secretsmanager get-secret-value --secret-id x", "aws --profile p configure list",
    "aws ssm get-parameter --name x --with-decryption", "aws ssm get-parameters-by-path --path /",
    "cat ~/.my.cnf", "sudo cat /etc/shadow", "cat ~/.config/gh/hosts.yml", "sudo -u app env",
    "timeout 5 env", "{ env; }", "x $(cat prod.env) y", "f=$(cat tls.key)", "cat secrets/db.yaml", "scp h:.env .", "env 1>x", "env &> x",
    "env -u X", "env -u HOME -u X | sort", "env --unset=X", "env --unset X", "env A=1", "env -i A='1 2' B=3; ls", "env -u X -0",
    "python -c 'import os; print(os.environ)'", 'python3 -c "import os; print(dict(os.environ))"', "python3.12 - <<E\nfrom os import environ\nprint(environ)\nE",
    "python -c 'import os; print(os.environ[\"API_KEY\"])'", "uv run python -c 'import os;print(os.getenv(\"DB_PASSWORD\"))'",
    "node -p process.env", "node -e 'console.log(process.env)'", "node -p 'process.env.API_TOKEN'", "node -e 'for (const k in process.env) console.log(k)'",
    "bun -e 'console.log(Bun.env)'", "deno eval 'console.log(Deno.env.toObject())'", "ruby -e 'puts ENV.to_h'", "ruby -e \"p ENV['X_SECRET']\"",
    "perl -e 'print %ENV'", "perl -le 'print $ENV{DB_PASSWORD}'", "php -r 'print_r(getenv());'", "php -r 'var_dump($_SERVER);'", "php -r 'phpinfo();'",
    "gcloud secrets versions access latest --secret x", "gcloud --project p secrets versions access 1", "gcloud auth application-default print-access-token",
    "az keyvault secret show --name x", "az account get-access-token", "az storage account keys list -n x", "bw get password x", "bw unlock --raw",
    "vercel env pull", "npx vercel env pull .env.local", "doppler secrets", "infisical export", "chamber read a b", "sops -d a.yaml", "lpass show x",
    "gopass show x", "keyring get a b", "secret-tool lookup a b", "ansible-vault view x.yml", "op inject -i a", "netlify env:list", "railway variables",
    "git credential fill", "dotenvx get X", "direnv export bash", "systemctl show-environment", "gpg --decrypt a.asc", "gpg -d a.gpg", "pulumi config --show-secrets",
    "security dump-keychain", "kubectl config view --raw", "oc whoami -t", "oc get secret x", "terraform state pull", "tofu output", "terraform show -json",
    "aws sts assume-role --role-arn x", "aws ecr get-login-password", "aws iam create-access-key",
    "Get-ChildItem Env:", "gci env:", "dir env:\\PATH", "Get-Content Env:API_KEY", "pwsh -Command 'gci env:'", "pwsh -c '[Environment]::GetEnvironmentVariables()'", "cmd /c set",
    "compgen -v", "compgen -A variable", "set | grep KEY", "set|grep x", "printenv X", "declare", "typeset -p", "typeset -x", "readonly -p",
    "echo $API_KEY", 'echo "t=${GITHUB_TOKEN}"', "printf %s $DB_PASSWORD | base64", "echo ${X_SECRET:0:4}", "Write-Host $env:API_KEY", "ls; echo $TOKEN",
]  # fmt: skip
PLAIN = [
    "export A=1", "export A=1; ls", "gh auth status", "docker compose up", "docker exec x ls",
    "kubectl exec p -- ls", "ssh h ls", "time make", "A=1 make", "python -m venv env",
    "git config set", "aws s3 ls", "cat docs/environ.md", "declare -a x", "pytest && echo pass",
    "bash -c 'echo x'", "cat hosts.yml", "grep shadow a.css", "cat box-shadow.css",
    "python - <<E\nif x:\n    pass\nE", "git commit -m 'x\npass the value on to y'", "cd env",
    "env1>x", "docker compose exec web ls", "op vault list", "cat config/secrets.py", "node a:12",
    "env -u X make", "env -i A=1 sh x.sh", "python -c 'import os; os.environ[\"A\"] = \"1\"; main()'", "python -c 'import os; print(os.environ.get(\"HOME\"))'",
    "python x.py; grep -rn os.environ src", "node -e 'process.env.NODE_ENV = 1; run()'", "node server.js process.env", "python -c 'subprocess.run(x, env={**os.environ})'",
    "gcloud secrets list", "az group list", "bw status", "vercel deploy", "gpg --verify a.sig", "kubectl config view", "ls env", "npm run env:check",
    "Get-ChildItem src", "compgen -c", "declare -a x", "echo $HOME $PWD", "echo $key", 'echo "pass: $pass"', "echo ${TOKEN:+set}", "sops -e a.yaml", "pulumi up", "terraform show",
]  # fmt: skip
PATHS = [
    "/h/.aws/credentials", "credentials", "config/credentials", ".env~", "/w/.env.local~",
    "prod.env~", "_netrc", "/h/_netrc", "/h/.my.cnf", "/h/.config/gh/hosts.yml",
    "service-account.json", "/w/service-account-prod.json", "my-service_account.json",
    "/etc/shadow", "/etc/gshadow", "secrets/db.yaml", "/w/secrets/prod/db.yml", "secrets/a.json",
    "/proc/self/environ", "/proc/1/environ", "C:\\w\\secrets\\db.json",
    "/h/.claude/.credentials.json", "/h/.codex/auth.json", "/h/.gemini/oauth_creds.json", "/h/.config/gcloud/credentials.db", "/h/.config/gcloud/access_tokens.db",
    "/h/.azure/msal_token_cache.json", "/h/.azure/accessTokens.json", "/h/.s3cfg", "/h/.boto", "/h/.dockercfg", "/h/.terraformrc", "/h/.terraform.d/credentials.tfrc.json",
    "/h/.databrickscfg", "/h/.mylogin.cnf", "/h/.config/rclone/rclone.conf", "rclone.conf", "C:\\w\\rclone.conf", "/w/wp-config.php", "/h/p.kdbx", "/h/x.ppk", "/w/debug.keystore",
    "/h/Library/Keychains/login.keychain-db", "/h/.gnupg/secring.gpg", "/h/.gnupg/private-keys-v1.d/AB.key", "/h/.config/github-copilot/apps.json",
    "/h/.config/glab-cli/config.yml", "/h/.composer/auth.json", "/run/secrets/db_password", "/var/run/secrets/kubernetes.io/serviceaccount/token",
]  # fmt: skip
PLAIN_PATHS = [
    "credentials/index.ts", "shadow", "src/shadow.css", "hosts.yml", "my.cnf.md", "environ",
    "service-account.py", "secrets/README.md", "src/environ.c", "secrets/load.py",
    "locales/en/auth.json", "src/keystore.ts", "apps.json", "config.yml", "docs/boto.md", "access_tokens.py",
]  # fmt: skip


def use(tool_input: dict[str, object]) -> bytes:
    return json.dumps({"tool_input": tool_input, "tool_response": "PIN=1234"}).encode()


def clean(raw: bytes) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(scrub_payload(raw, SHAPE))
    return found


@pytest.mark.parametrize("command", COMMANDS)
def test_output_goes(command: str) -> None:
    raw = use({"command": command})
    assert gates.hit(raw)
    assert clean(raw)["tool_response"] == NOTE


WORDS_OF_COMMANDS = [
    ["env"], ["bash", "-lc", "env"], ["bash", "-lc", "cd /w && env | sort"], ["printenv"], ["docker", "inspect", "web"],
    ["aws", "configure", "list"], ["kubectl", "get", "secret", "x"], ["cat", ".env"], ["vault", "kv", "get", "a"],
    ["gh", "auth", "token"], ["terraform", "output"], ["declare", "-p"], ["pass", "show", "web"],
]  # fmt: skip


@pytest.mark.parametrize("words", WORDS_OF_COMMANDS)
@pytest.mark.parametrize("name", ["command", "cmd"])
def test_output_of_a_command_given_as_words_goes(words: list[str], name: str) -> None:
    raw = use({name: words})
    for spelled in (raw, raw.replace(b'", "', b'","').replace(b'": [', b'":[')):
        assert gates.hit(spelled)
        assert clean(spelled)["tool_response"] == NOTE


def test_output_of_a_command_under_another_name_goes() -> None:
    assert clean(use({"cmd": "env"}))["tool_response"] == NOTE
    raw = use({"cmd": ["bash", "-lc", "cat > .env <<E\nPIN=1234\nE"]})
    assert clean(raw)["tool_input"]["cmd"][2] == f"{NOTE} > .env"
    for words in (["python", "-m", "venv", "env"], ["env", "A=1", "make"], ["echo", "set"]):
        assert clean(use({"cmd": words}))["tool_response"] == "PIN=1234"


@pytest.mark.parametrize("command", PLAIN)
def test_output_stays(command: str) -> None:
    assert not is_command(command)


@pytest.mark.parametrize("path", PATHS)
def test_content_goes(path: str) -> None:
    for raw in (use({"file_path": path}), use({"file_path": path}).replace(b"/", b"\\/")):
        assert gates.hit(raw)
        assert clean(raw) == {"tool_input": {"file_path": path}, "tool_response": NOTE}


@pytest.mark.parametrize("path", PLAIN_PATHS)
def test_content_stays(path: str) -> None:
    assert not is_path(path)


WORDS = st.sampled_from(
    [" ", "\t", "\n", "  ", "'", '"', ";", "|", "&", "(", ")", "{", "}", ">", "2>", "1>", "/", ":", "=",
     "-c", "--", "env", "set", "export", "printenv", "pass", "show", "x", "a.b", "sudo", "ssh", "exec",
     "docker", "compose", "config", "inspect", "kubectl", "get", "secret", "secrets", "aws", "gh",
     "configure", "auth", "token", "status", "-t", "op", "read", "item", "declare", "-p", "-x", ".env",
     "~", ".netrc", "_netrc", ".my.cnf", "hosts.yml", "proc", "environ", "etc", "shadow", ".json", ".key",
     "service-account", "credentials", "python", "node", "-e", "os.environ", "process.env", "print(", "ENV", "-u X", "$", "echo", "$API_", "KEY", "gpg", "-d",
     "az", "list-keys", "env:", "gci", "Env:", "gcloud", "versions access", "auth.json", "rclone.conf", "_netrc", "\t", "sops", "bw", "typeset", "\\", "\u00e9", "\0", "time", "A=1", "vault", "kv", ".yaml"]
)  # fmt: skip


@settings(max_examples=500)
@given(st.lists(WORDS, max_size=14), st.booleans())
def test_gate_fires_wherever_a_source_is_secret(words: list[str], spaced: bool) -> None:
    text = (" " if spaced else "").join(words)
    if is_command(text) or is_path(text):
        for ascii_only in (False, True):
            raw = json.dumps({"x": text}, ensure_ascii=ascii_only).encode()
            assert gates.hit(raw)
            assert gates.hit(raw.replace(b"/", b"\\/"))


def test_edits_inside_a_list_go() -> None:
    edits = [{"old_string": "PIN=1", "new_string": "PIN=2", "replace_all": True}]
    deep: object = "PIN=3"
    for _ in range(20):
        deep = [deep]
    raw = use({"file_path": "/w/.env", "edits": edits, "deep": deep, "n": {"path": ".env"}})
    found = clean(raw)
    assert b"PIN" not in scrub_payload(raw, SHAPE)
    assert found["tool_input"]["edits"] == [
        {"old_string": NOTE, "new_string": NOTE, "replace_all": True}
    ]
    assert found["tool_input"]["n"] == {"path": ".env"}


@pytest.mark.parametrize("piece", ["ssh ", "docker exec ", "A=1 ", "; pass x", "sudo -u a ",
    "kubectl ", ";kubectl secre", "aws ", "docker compose ", "bash -c '", "secrets/", "export ",
    "service-account", "do docker compose ", "echo $", "echo $token ", "py py -", "python -c ", "print(environ", "env -u x ", "env A= ", '-p env["', "az list ", "environ/", "sudo -a ", "run env", "gh auth status "])  # fmt: skip
def test_hostile_commands_end(piece: str) -> None:
    text = piece * (65_536 // len(piece))
    assert is_command(text) in (True, False)
    assert is_path(text[:1000]) in (True, False)
    assert gates.hit(text.encode()) in (True, False)
