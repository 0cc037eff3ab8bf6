// OpenCode as far as the plugin sees it: loads PLUGIN and calls its hooks with what is in EVENTS,
// one {kind, input, output} a line. Prints the system prompts as the plugin left them.

import { readFileSync } from "node:fs"
import { pathToFileURL } from "node:url"

const [plugin, file] = process.argv.slice(2)
const exported = Object.values(await import(pathToFileURL(plugin)))
if (exported.length !== 1) throw new Error("OpenCode takes every export for a plugin")
let hooks
const systems = []
for (const line of readFileSync(file, "utf8").split("\n").filter(Boolean)) {
  const { kind, input, output } = JSON.parse(line)
  if (kind === "init") hooks = await exported[0](input)
  else if (kind.startsWith("event:")) {
    await hooks.event({ event: { type: kind.slice(6), properties: input } })
  } else if (kind === "system.transform") {
    const system = output?.system ?? ["You are a coding agent."]
    await hooks["experimental.chat.system.transform"](input, { system })
    systems.push(system)
  } else if (kind === "session.compacting") {
    await hooks["experimental.session.compacting"](input, output)
  } else if (kind === "dispose") await hooks.dispose()
  else if (hooks[kind]) await hooks[kind](input, output)
}
console.log(JSON.stringify(systems))
