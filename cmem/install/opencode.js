// cmem for OpenCode: tells cmem's hook what happens, and puts its memories into the system prompt.
// Made by `cmem install opencode`, which overwrites changes; `cmem uninstall opencode` deletes it.

import { spawn } from "node:child_process"

const LINE = "cmem hook opencode \"$1\" 2>/dev/null || exit 0"
const LIMIT_MS = 6000

// Run the hook for one event; resolves to what it printed, to "" whatever goes wrong.
function run(event, payload) {
  return new Promise((resolve) => {
    let printed = ""
    const stdout = event === "SessionStart" ? "pipe" : "ignore"
    // In a group of its own, or a Ctrl-C meant for the host would end the hook too.
    const child = spawn("/bin/sh", ["-c", LINE, "sh", event], {
      stdio: ["pipe", stdout, "ignore"],
      detached: true,
    })
    const timer = setTimeout(() => {
      child.kill("SIGKILL")
      resolve("")
    }, LIMIT_MS)
    const end = (text) => {
      clearTimeout(timer)
      resolve(text)
    }
    child.on("error", () => end(""))
    child.on("close", () => end(printed))
    child.stdout?.setEncoding("utf8").on("data", (data) => (printed += data))
    child.stdin.on("error", () => {})
    child.stdin.end(JSON.stringify(payload) + "\n")
  })
}

function contextIn(printed) {
  try {
    return JSON.parse(printed).hookSpecificOutput.additionalContext || ""
  } catch {
    return ""
  }
}

// An exception of ours must not become one of the host's.
function harmless(work) {
  return async (...given) => {
    try {
      await work(...given)
    } catch {}
  }
}

export const CmemPlugin = async ({ directory }) => {
  const sessions = new Map()
  let queue = Promise.resolve("")

  // One hook after the other, so that events are captured in their order.
  function send(session, event, fields) {
    const root = session.parent ?? session
    const agent = session.parent ? { agent_id: session.id, agent_type: session.agent } : {}
    const payload = { session_id: root.id, cwd: directory, hook_event_name: event, ...agent, ...fields }
    queue = queue.then(() => run(event, payload)).catch(() => "")
    return queue
  }

  // The session as we know it. A subagent's belongs to the one that started it.
  function known(id, info) {
    let session = sessions.get(id)
    if (session) return session
    const above = info?.parentID ? known(info.parentID) : undefined
    session = { id, parent: above?.parent ?? above, agent: "task", prompt: "", answer: "", error: "" }
    session.said = new Map()
    session.failed = new Set()
    sessions.set(id, session)
    if (!session.parent) {
      session.context = send(session, "SessionStart", { source: "startup" }).then(contextIn)
    }
    return session
  }

  function toolUsed(session, call, name, args, response) {
    const prompt = (session.parent ?? session).prompt
    // A patch goes where other hosts have it, so that one of a secret file is known for one.
    const { patchText, ...rest } = args ?? {}
    const given = typeof patchText === "string" ? { ...rest, command: patchText } : args
    return send(session, "ToolExecuted", {
      prompt_id: prompt,
      tool_use_id: call,
      tool_name: name,
      tool_input: given ?? {},
      tool_response: response,
    })
  }

  async function partUpdated(part) {
    const session = known(part.sessionID)
    if (part.type === "text" && part.messageID === session.answer && !part.synthetic) {
      session.said.set(part.id, part.text)
    }
    // A tool that fails is told of nowhere else.
    if (part.type === "tool" && part.state?.status === "error" && !session.failed.has(part.callID)) {
      session.failed.add(part.callID)
      const { input, error } = part.state
      await toolUsed(session, part.callID, part.tool, input, { error })
    }
  }

  function named(error) {
    return error ? [error.name, error.data?.message].filter(Boolean).join(": ") : ""
  }

  function messageUpdated(info) {
    if (info.role !== "assistant") return
    const session = known(info.sessionID)
    if (info.id !== session.answer) {
      session.answer = info.id
      session.said.clear()
    }
    session.error = named(info.error)
  }

  async function idle(id) {
    const session = known(id)
    // After an error it is said twice.
    const turn = session.prompt + " " + session.answer
    if (session.parent || session.ended === turn) return
    session.ended = turn
    await send(session, "SessionIdle", {
      prompt_id: session.prompt,
      last_assistant_message: [...session.said.values()].join("\n").trim(),
      error: session.error,
    })
  }

  return {
    event: harmless(async ({ event }) => {
      const told = event.properties ?? {}
      if (event.type === "session.created") known(told.info.id, told.info)
      if (event.type === "message.updated") messageUpdated(told.info)
      if (event.type === "message.part.updated") await partUpdated(told.part)
      if (event.type === "session.error" && told.sessionID) known(told.sessionID).error = named(told.error)
      if (event.type === "session.idle") await idle(told.sessionID)
    }),
    "chat.message": harmless(async (input, { message, parts }) => {
      const session = known(input.sessionID)
      session.agent = message.agent || session.agent
      if (session.parent) return
      const own = parts.filter((part) => part.type === "text" && !part.synthetic)
      const prompt = own.map((part) => part.text).join("\n")
      if (!prompt.trim()) return
      session.prompt = message.id
      session.error = ""
      session.said.clear()
      await send(session, "ChatMessage", { prompt_id: message.id, prompt })
    }),
    "tool.execute.after": harmless(async (input, { title, output, metadata, content }) => {
      const session = known(input.sessionID)
      // What an outside server answers comes as a list of blocks.
      const texts = content?.filter((block) => block.type === "text")
      const response = { title, output, metadata, content: texts }
      await toolUsed(session, input.callID, input.tool, input.args, response)
    }),
    "experimental.chat.system.transform": harmless(async (input, output) => {
      if (!input.sessionID || /title generator/i.test(output.system.join("\n").slice(0, 400))) return
      const context = await known(input.sessionID).context
      if (context) output.system.push(context)
    }),
    "experimental.session.compacting": harmless(async (input) => {
      const session = known(input.sessionID)
      if (!session.parent) await send(session, "SessionCompacting", {})
    }),
    dispose: harmless(async () => {
      await queue
      const roots = [...sessions.values()].filter((session) => session.prompt && !session.parent)
      sessions.clear()
      await Promise.all(
        roots.map((session) =>
          run("SessionEnd", {
            session_id: session.id,
            cwd: directory,
            hook_event_name: "SessionEnd",
            reason: "dispose",
          }),
        ),
      )
    }),
  }
}
