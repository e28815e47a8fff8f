/** `headgate tools`: lists the tools of an MCP server, or calls one, without a model. */

import { parseArgs } from 'node:util'
import { createToolServers, type OfferedTool, type OpenTools } from '../mcp/tool-servers.ts'
import { loadSettings } from '../config/read-settings.ts'
import type { Settings } from '../core/settings.ts'
import { usageError, type Command } from './command.ts'

const usage = `Usage: headgate tools list URL|SLUG [OPTIONS]
       headgate tools call URL|SLUG TOOL ['ARGUMENTS AS JSON'] [OPTIONS]

Lists or calls the tools of an MCP server. A slug is looked up in the configuration, then in the registry.

  -c, --config FILE
  -H, --header "NAME: VALUE"   sent to the server; repeatable
  --json
`

const options = {
  config: { type: 'string', short: 'c' },
  header: { type: 'string', short: 'H', multiple: true },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' }
} as const

/** Allows every address: who runs the command can reach them anyway, unlike a caller of the gateway. */
const anyAddress = ['0.0.0.0/0', '::/0']

export const tools: Command = {
  usage,
  run: async (args, { env, cwd, out, error }) => {
    const { values: { config: file } } = parseArgs({ args: [...args], strict: false, options })
    const settings = loadSettings({ env, cwd, file: typeof file === 'string' ? file : undefined })
    const code = await toolsCommand([...args], {
      toolServers: settings.toolServers, tools: { ...settings.tools, allowedHosts: anyAddress }
    }, {
      out: text => out(text.replace(/\n$/, '')),
      error: text => error(text.replace(/\n$/, ''))
    })
    return code === 0 || code === 1 ? code : 2
  }
}

/** Receives the output; standard output and standard error by default. */
export interface Output {
  readonly out: (text: string) => void
  readonly error: (text: string) => void
}

const standard: Output = {
  out: text => { process.stdout.write(text) },
  error: text => { process.stderr.write(text) }
}

/**
 * Runs the command with the arguments after `tools`.
 *
 * @returns the exit code: 0, or 1 when the server or the tool failed, or 2 for wrong arguments
 */
export async function toolsCommand (
  args: string[], settings: Pick<Settings, 'tools' | 'toolServers'>, output: Output = standard
): Promise<number> {
  const invocation = readArgs(args)
  if (typeof invocation === 'string') {
    output.error(`${invocation}\n\n${usage}`)
    return 2
  }
  if (invocation.command === 'help') {
    output.out(usage)
    return 0
  }
  const servers = createToolServers(withHost(settings, invocation.server))
  try {
    return await execute(invocation, servers, output)
  } finally {
    await servers.close()
  }
}

type Invocation = { readonly command: 'help' } | ServerInvocation

interface ServerInvocation {
  readonly command: 'list' | 'call'
  readonly server: string
  readonly tool: string
  readonly args: Readonly<Record<string, unknown>>
  readonly headers: Readonly<Record<string, string>>
  readonly json: boolean
}

/** Parses the arguments; returns a message when they are wrong. */
function readArgs (args: string[]): Invocation | string {
  try {
    const { values, positionals } = parseArgs({
      args,
      allowPositionals: true,
      options
    })
    if (values.help === true) return { command: 'help' }
    const [command, server = '', tool = '', text = '{}', ...rest] = positionals
    if (command !== 'list' && command !== 'call') return 'Use `list` or `call`.'
    if (server === '') return 'The URL or slug of an MCP server is required.'
    if (command === 'list' ? tool !== '' : rest.length > 0) return 'Too many arguments.'
    if (command === 'call' && tool === '') return 'The name of a tool is required.'
    const parsed: unknown = JSON.parse(text)
    if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return 'The arguments of a tool must be a JSON object.'
    const headers = Object.fromEntries((values.header ?? []).map(readHeader))
    return { command, server, tool, args: { ...parsed }, headers, json: values.json === true }
  } catch (error) {
    if (error instanceof SyntaxError) return 'The arguments of a tool must be a JSON object.'
    const mistake = usageError(error)
    if (mistake === undefined) throw error
    return `${mistake}.`
  }
}

function readHeader (text: string): [string, string] {
  const [, name = text, value = ''] = /^([^:]+):(.*)$/.exec(text) ?? []
  return [name, value.trim()]
}

/** Allows the host of the URL: who runs the command can reach it anyway. */
function withHost <S extends Pick<Settings, 'tools'>> (settings: S, server: string): S {
  if (!URL.canParse(server)) return settings
  const { tools } = settings
  return { ...settings, tools: { ...tools, allowedHosts: [...tools.allowedHosts, new URL(server).hostname] } }
}

async function execute (
  { command, server, tool, args, headers, json }: ServerInvocation,
  servers: ReturnType<typeof createToolServers>, { out, error }: Output
): Promise<number> {
  const spec = /^https?:\/\//i.test(server) ? { url: server } : { slug: server }
  const { signal } = new AbortController()
  const open = await servers.open({ request: { mcp_servers: { ...spec, headers } }, key: { id: '' }, taken: new Set(), signal })
  for (const [name, { message, code, recommendation }] of Object.entries(open.errors)) {
    error(`${name}: ${message} (${code ?? 'unknown'})\n${recommendation === undefined ? '' : `${recommendation}\n`}`)
    return 1
  }
  if (command === 'list') {
    out(json ? `${JSON.stringify(open.offered.map(({ tool }) => tool), null, 2)}\n` : open.offered.map(asText).join(''))
    return 0
  }
  return await callTool(open, tool, args, json, { out, error })
}

async function callTool (
  open: OpenTools, tool: string, args: ServerInvocation['args'], json: boolean, { out, error }: Output
): Promise<number> {
  const name = open.offered.find(offered => offered.tool.name === tool)?.name
  if (name === undefined) {
    error(`Unknown tool \`${tool}\`. Tools: ${open.offered.map(offered => offered.tool.name).join(', ')}\n`)
    return 1
  }
  const { text, result } = await open.call(name, args, { signal: new AbortController().signal })
  out(json ? `${JSON.stringify(result, null, 2)}\n` : `${text}\n`)
  return result.isError ? 1 : 0
}

/** Formats name, hints and the first line of the description. The hints are the server's own claims. */
function asText ({ tool }: OfferedTool): string {
  const { readOnlyHint, destructiveHint, idempotentHint, openWorldHint } = tool.annotations ?? {}
  const hints = [
    readOnlyHint === true ? 'claims read-only' : '',
    destructiveHint === true ? 'claims destructive' : '',
    idempotentHint === true ? 'claims idempotent' : '',
    openWorldHint === true ? 'claims open-world' : ''
  ].filter(hint => hint !== '')
  const [description = ''] = (tool.description ?? tool.title ?? '').split('\n')
  return `${tool.name}${hints.length === 0 ? '' : ` (${hints.join(', ')})`}\n    ${description}\n`
}
