"""What the programs that commands name do with the rest of their words. Data only."""

from __future__ import annotations


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Print what others have written, whatever they are told.
FETCHERS = _names("""
    curl wget aria2c axel lynx w3m links elinks gh glab hub ssh scp sftp telnet rsync rclone s3cmd
    azcopy gsutil httpie xh curlie lftp ncftp ncat socat yt-dlp youtube-dl whois dig
    nslookup iwr irm invoke-webrequest invoke-restmethod start-bitstransfer bitsadmin certutil
    websocat grpcurl uvx svn huggingface-cli kaggle
""")
# So do these, but they are words of other meanings too: only where a command begins.
AMBIGUOUS = _names("nc ftp http https host mail b2 hf")
# Of these, the ones that are words of the language too, or of a project's own.
TELLING = FETCHERS - _names("links hub dig host kaggle certutil")

# These too, unless they are told to change something.
CLOUDS = _names("aws az gcloud")
CHANGES = _names("""
    create delete modify update put start stop reboot run tag untag wait enable disable attach
    detach register deregister associate disassociate authorize revoke configure set add remove
    restore terminate deploy
""")

# Their words are patterns, texts or names of files; they start no other program.
DATA = _names("""
    echo printf cat tac head tail wc ls ll tree less more bat nl od xxd file stat du df rm mkdir
    rmdir cp mv ln touch chmod chown diff cmp comm sort uniq cut paste tr tee column fold rev seq
    grep egrep fgrep zgrep rg ag ack sed jq yq fd locate which type whereis man info whatis apropos
    hash cd pushd popd pwd basename dirname realpath readlink test [ [[ true false : sleep wait kill
    export unset declare typeset local readonly set shopt read return exit break continue
    umask history date cal id whoami uname hostname ps top free dpkg dpkg-query rpm tput clear
    md5sum sha1sum sha256sum shasum base64 strings tar zip unzip gzip
    gunzip zcat for case select function help apply_patch patch mktemp expr let
    pytest py.test ruff mypy pyright black isort flake8 pylint tsc eslint prettier jest vitest mocha
    ava phpunit rspec rubocop ctest shellcheck shfmt gofmt golangci-lint stylelint biome
    select-string get-content write-output write-host set-content new-item remove-item
""")
# Of these, the ones that say what they are told.
TELLERS = _names("echo printf cat tee write-output write-host")
# Their words are names of a project's own tasks, tests and services.
BUILDERS = _names("""
    make gmake cmake ninja npm pnpm yarn bun deno cargo go gradle gradlew mvn mvnw dotnet docker
    docker-compose podman tox nox just task rake mix bazel sbt lein swift xcodebuild flutter dart
    composer bundle pip pip3 poetry uv hatch pdm conda brew apt apt-get terraform kubectl helm
    pre-commit systemctl journalctl service bd jj hg
""")

SHELLS = _names("bash sh zsh dash ksh ash fish su runuser cmd powershell pwsh")
INTERPRETERS = _names("""
    python pypy node nodejs deno bun ruby perl php lua luajit rscript osascript elixir julia groovy
    swift tclsh expect ipython irb ts-node tsx awk gawk mawk nawk
""")

# A command behind these runs as if it stood alone. Each with its options that take a word, and
# how many words come before the command.
WRAPPERS: dict[str, tuple[frozenset[str], int]] = {
    name: (_names(options), before)
    for name, options, before in (
        ("sudo", "-u -g -h -p -C -T -r -t -U -D -R --user --group", 0),
        ("doas", "-u -C", 0),
        ("env", "-u -C --unset --chdir", 0),
        ("nice", "-n --adjustment", 0),
        ("ionice", "-c -n -p", 0),
        ("chrt", "-T -P -D", 1),
        ("taskset", "", 1),
        ("timeout", "-s -k --signal --kill-after", 1),
        ("gtimeout", "-s -k --signal --kill-after", 1),
        ("time", "-f -o --format --output", 0),
        ("gtime", "-f -o --format --output", 0),
        ("xargs", "-n -I -P -L -d -a -s -E --max-args --max-procs --replace --arg-file", 0),
        ("parallel", "-j -N -n --jobs --colsep --delay --joblog --results --retries", 0),
        ("watch", "-n --interval", 0),
        ("stdbuf", "-i -o -e", 0),
        ("flock", "-w -E --timeout", 1),
        ("strace", "-e -o -p -s -P -u", 0),
        ("ltrace", "-e -o -p -s", 0),
        ("chroot", "", 1),
        ("exec", "-a", 0),
        ("command", "", 0),
        ("builtin", "", 0),
        ("proxychains", "-f", 0),
        ("proxychains4", "-f", 0),
        ("systemd-run", "-p -u --unit --property", 0),
        ("entr", "", 0),
        ("hyperfine", "-w -r -p --warmup --runs --prepare", 0),
        ("script", "", 0),
        ("dotenv", "-e -f", 0),
        *((name, "", 0) for name in ("nohup", "setsid", "unbuffer", "caffeinate", "torsocks")),
        *((name, "", 0) for name in ("busybox", "toybox", "chronic", "firejail", "bwrap", "wsl")),
        *((name, "", 0) for name in ("winpty", "faketime", "coproc")),
        *((name, "", 0) for name in ("then", "else", "elif", "do", "if", "while", "until", "!")),
        ("{", "", 0),
        ("}", "", 0),
    )
}
# The same, named by two words.
_IN_CONTAINER = "-e -u -w -v -p -l --env --user --workdir --volume --name --network --entrypoint"
SUBCOMMANDS: dict[tuple[str, str], tuple[frozenset[str], int]] = {
    (name, verb): (_names(options), before)
    for name, verb, options, before in (
        *(
            (name, verb, _IN_CONTAINER + " --env-file --platform --index -h --hostname", 1)
            for name in ("docker", "podman", "nerdctl", "docker-compose", "compose")
            for verb in ("exec", "run")
        ),
        ("kubectl", "exec", "-n -c --namespace --container", 1),
        ("oc", "exec", "-n -c --namespace --container", 1),
        ("uv", "run", "-p --python --with --extra --group --package --directory --project", 0),
        ("poetry", "run", "", 0),
        ("pipenv", "run", "", 0),
        ("hatch", "run", "", 0),
        ("pdm", "run", "", 0),
        ("rye", "run", "", 0),
        ("bundle", "exec", "", 0),
        ("npm", "exec", "-w --workspace", 0),
        ("pnpm", "exec", "", 0),
        ("yarn", "exec", "", 0),
        ("mise", "exec", "", 0),
        ("asdf", "exec", "", 0),
        ("direnv", "exec", "", 1),
        ("conda", "run", "-n -p --name --prefix", 0),
        ("nix", "run", "", 1),
    )
}

COMPOSERS = frozenset(("docker", "podman", "nerdctl"))
COMPOSE_OPTIONS = _names("-f -p --file --project-name --profile --env-file")
INTERPRETER_OPTIONS = _names("-W -X -I --require --import --loader")

# Programs that bring packages from a registry, and what they are told to do so.
PACKAGERS = _names("""
    pip pip3 pipx npm pnpm yarn bun cargo gem go brew apt apt-get aptitude apk dnf yum pacman conda
    mamba poetry pdm composer uv bundle dotnet snap flatpak choco winget scoop luarocks cpan
""")
PACKAGE_VERBS = _names("""
    install i ci add get update upgrade download sync view info show search outdated audit
    -S -Sy -Syu -Ss dlx create
""")
# What these say of where, before the verb.
VALUE_OPTIONS = _names("""
    --prefix -C --cwd --dir --directory -w --workspace --project --manifest-path --python
    --log-level --registry --chdir
""")
RUNNERS = frozenset(("npx", "bunx"))
RUNNER_OPTIONS = frozenset(("-y", "--yes", "-p", "--package"))

GIT_FETCHES = frozenset(("clone", "fetch", "pull", "submodule", "ls-remote"))
# With a second word, these reach a server too.
GIT_PAIRS = frozenset({
    *(("remote", verb) for verb in ("update", "show", "prune")),
    *(("lfs", verb) for verb in ("pull", "fetch", "clone")),
    ("svn", "clone"), ("svn", "fetch"), ("svn", "rebase"),
})  # fmt: skip
# These show what a branch of others holds, or bring it here.
GIT_SHOWS = _names("""
    show log diff checkout switch restore merge rebase cherry-pick blame cat-file grep shortlog
    whatchanged range-diff format-patch archive read-tree reset difftool
""")
OTHER_FETCHES = frozenset({
    ("hg", "pull"), ("hg", "clone"), ("hg", "incoming"), ("jj", "git"), ("dvc", "pull"),
    ("docker", "search"), ("podman", "search"), ("helm", "pull"), ("helm", "show"),
    ("openssl", "s_client"),
})  # fmt: skip

# The word behind these is a text for people, or a pattern.
TEXT_OPTIONS = _names("""
    -m -am --message --title --body --description --notes --comment --reason
    -k -run --grep --filter --pattern --exclude --include --ignore -g --glob
""")
