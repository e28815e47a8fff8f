/** `headgate tools`: what a tool server offers, and one call of a tool, without any model. */

import { parseArgs } from 'node:util'
import { createToolServers, type OfferedTool, type OpenTools } from '../mcp/tool-servers.ts'
import { loadSettings } from '../config/read-settings.ts'
import type { Settings } from '../core/settings.ts'
import { wrongUse, type Command } from './command.ts'

const usage = `Usage:
  headgate tools list <url|slug> [options]
  headgate tools call <url|slug> <tool> ['<arguments as JSON>'] [options]

Lists or calls the tools of a tool server (MCP). A slug is looked for in the
configuration, then in the registry.

Options:
  -c, --config <file>         the configuration
  -H, --header <name: value>  sent to the server; may be given more than once
      --json                  print JSON
  -h, --help                  show this
`

const options = {
  config: { type: 'string', short: 'c' },
  header: { type: 'string', short: 'H', multiple: true },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' }
} as const

/** Whoever runs this may reach whatever this machine reaches, unlike a caller of the gateway. */
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

/** Where the words go; standard output and standard error unless told otherwise. */
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
  const question = readArgs(args)
  if (typeof question === 'string') {
    output.error(`${question}\n\n${usage}`)
    return 2
  }
  if (question.command === 'help') {
    output.out(usage)
    return 0
  }
  const servers = createToolServers(withHost(settings, question.server))
  try {
    return await answer(question, servers, output)
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

/** What is asked for, or what is wrong with how it is asked. */
function readArgs (args: string[]): Invocation | string {
  try {
    const { values, positionals } = parseArgs({
      args,
      allowPositionals: true,
      options
    })
    if (values.help === true) return { command: 'help' }
    const [command, server = '', tool = '', text = '{}', ...rest] = positionals
    if (command !== 'list' && command !== 'call') return 'Say `list` or `call`.'
    if (server === '') return 'Say which tool server: its URL or its slug.'
    if (command === 'list' ? tool !== '' : rest.length > 0) return 'There are too many arguments.'
    if (command === 'call' && tool === '') return 'Say which tool to call.'
    const parsed: unknown = JSON.parse(text)
    if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return 'The arguments of a tool are a JSON object.'
    const headers = Object.fromEntries((values.header ?? []).map(readHeader))
    return { command, server, tool, args: { ...parsed }, headers, json: values.json === true }
  } catch (error) {
    if (error instanceof SyntaxError) return 'The arguments of a tool are a JSON object.'
    const mistake = wrongUse(error)
    if (mistake === undefined) throw error
    return `${mistake}.`
  }
}

function readHeader (text: string): [string, string] {
  const [, name = text, value = ''] = /^([^:]+):\s*(.*)$/.exec(text) ?? []
  return [name, value]
}

/** Whoever has this command line may reach the host anyway. */
function withHost <S extends Pick<Settings, 'tools'>> (settings: S, server: string): S {
  if (!URL.canParse(server)) return settings
  const { tools } = settings
  return { ...settings, tools: { ...tools, allowedHosts: [...tools.allowedHosts, new URL(server).hostname] } }
}

async function answer (
  { command, server, tool, args, headers, json }: ServerInvocation,
  servers: ReturnType<typeof createToolServers>, { out, error }: Output
): Promise<number> {
  const spec = /^https?:\/\//i.test(server) ? { url: server } : { slug: server }
  const { signal } = new AbortController()
  const open = await servers.open({ request: { mcp_servers: { ...spec, headers } }, keyId: '', taken: new Set(), signal })
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
    error(`There is no tool \`${tool}\`. There is: ${open.offered.map(offered => offered.tool.name).join(', ')}\n`)
    return 1
  }
  const { text, result } = await open.call(name, args, { signal: new AbortController().signal })
  out(json ? `${JSON.stringify(result, null, 2)}\n` : `${text}\n`)
  return result.isError ? 1 : 0
}

/** Name, hints and the first line of the description. The hints are the server's own word. */
function asText ({ tool }: OfferedTool): string {
  const { readOnlyHint, destructiveHint, idempotentHint, openWorldHint } = tool.annotations ?? {}
  const hints = [
    readOnlyHint === true ? 'says it only reads' : '',
    destructiveHint === true ? 'says it may destroy' : '',
    idempotentHint === true ? 'says it may be repeated' : '',
    openWorldHint === true ? 'says it reaches out' : ''
  ].filter(hint => hint !== '')
  const [description = ''] = (tool.description ?? tool.title ?? '').split('\n')
  return `${tool.name}${hints.length === 0 ? '' : ` (${hints.join(', ')})`}\n    ${description}\n`
}
