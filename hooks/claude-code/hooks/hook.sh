#!/bin/sh
# hook.sh EVENT: hand one event of Claude Code to cmem, wherever that is. Always exits 0, and
# says nothing but what a session start, and recall where it is on, may say. It does what a command registered by
# `cmem install` does, so both may be there: an event that arrives twice is stored once.

exec 2>/dev/null
event=$1
[ -n "$event" ] || exit 0
# Set by a project, these would have a hook run the project's modules, or another program.
unset PYTHONPATH PYTHONHOME PYTHONEXECUTABLE __PYVENV_LAUNCHER__

# The data home that an install has prepared; empty: there is none, cmem decides where it lies.
home=
if [ -n "$CMEM_HOME" ]; then
    set -- "$CMEM_HOME"
else
    set -- "$XDG_DATA_HOME/cmem" "$HOME/.local/share/cmem" "$HOME/Library/Application Support/cmem"
fi
for place in "$@"; do
    case $place in
    /cmem | [!/]*) ;; # not set, or not absolute
    *) [ -z "$home" ] && [ -f "$place/hook.py" ] && home=$place ;;
    esac
done

# lookup NAME: print its path. Only absolute entries of PATH count, a project can plant the
# others; a client started from a desktop has a short PATH, so where pipx and uv install is added.
lookup() {
    set -f
    IFS=:
    for folder in $PATH "$HOME/.local/bin"; do
        case $folder in
        /*) [ -f "$folder/$1" ] && [ -x "$folder/$1" ] && echo "$folder/$1" && return ;;
        esac
    done
}

# Whether this session's settings run our launcher too, which then begins the session.
registered() {
    grep -qs "hook\.py'* claude-code SessionStart" \
        "${CLAUDE_CONFIG_DIR:-$HOME/.claude}/settings.json" \
        "$CLAUDE_PROJECT_DIR/.claude/settings.json" \
        "$CLAUDE_PROJECT_DIR/.claude/settings.local.json"
}

# Output of most events would steer the agent, and one block of memories is enough. Where recall
# is on, the hook that stores an event first is the one that speaks.
case $event in
SessionStart) registered && exec >/dev/null ;;
UserPromptSubmit | PostToolUseFailure)
    [ -n "$home" ] && [ -f "$home/config.toml" ] && grep -q "^ *recall_" "$home/config.toml" ||
        exec >/dev/null
    ;;
*) exec >/dev/null ;;
esac

program=$(lookup cmem)
if [ -n "$program" ] && "$program" hook claude-code "$event" ${home:+"$home"}; then
    exit 0 # where nobody has made the launcher, from which background runs start, that has
elif [ -n "$home" ]; then
    # Not on PATH, or it could not even start and has left the event unread.
    program=$(lookup python3)
    [ -n "$program" ] && "$program" -I -S "$home/hook.py" claude-code "$event" "$home"
fi
exit 0
