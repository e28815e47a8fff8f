/** `headgate tools`: lists the tools of a tool server, or calls one, without a model. */

import { parseArgs } from 'node:util'
import { createToolServers, type OfferedTool, type OpenTools } from '../mcp/tool-servers.ts'
import { isObject } from '../json/type-guards.ts'
import { loadSettings } from '../config/read-settings.ts'
import { CommandError, type ExitCode, type Terminal } from '../process/terminal.ts'
import type { Settings } from '../core/settings.ts'
import type { Command } from './command.ts'

const options = {
  config: { type: 'string', short: 'c' },
  header: { type: 'string', short: 'H', multiple: true },
  json: { type: 'boolean', default: false }
} as const

/** Allows every address: unlike a caller of the gateway, whoever runs the command can reach them anyway. */
const anyAddress = ['0.0.0.0/0', '::/0']

export const tools: Command = {
  usage: `Usage: headgate tools list URL|SLUG [OPTIONS]
       headgate tools call URL|SLUG TOOL ['ARGUMENTS AS JSON'] [OPTIONS]

Lists or calls the tools of a tool server. A slug is looked up in the configuration, then in the registry.

  -c, --config FILE
  -H, --header "NAME: VALUE"   sent to the server; repeatable
  --json`,

  run: async (args, { env, cwd, out }) => {
    const invocation = readArgs(args)
    const { toolServers, tools } = loadSettings({ env, cwd, file: invocation.config })
    return await useTools(invocation, { toolServers, tools: { ...tools, allowedHosts: anyAddress } }, out)
  }
}

export interface Invocation {
  readonly action: 'list' | 'call'
  readonly server: string
  readonly tool: string
  readonly args: Readonly<Record<string, unknown>>
  readonly headers: Readonly<Record<string, string>>
  readonly json: boolean
  readonly config?: string | undefined
}

/**
 * Parses the arguments after `tools`.
 *
 * @throws CommandError, and the errors of `parseArgs`, for wrong usage
 */
export function readArgs (given: readonly string[]): Invocation {
  const { values, positionals } = parseArgs({ args: [...given], allowPositionals: true, options })
  const [action = '', server = '', tool = '', args = '{}', ...rest] = positionals
  if (action !== 'list' && action !== 'call') {
    throw wrongUsage(action === '' ? 'use list or call' : `unknown action "${action}"; use list or call`)
  }
  if (server === '') throw wrongUsage('the URL or slug of a tool server is required')
  if (action === 'call' && tool === '') throw wrongUsage('the name of a tool is required')
  if (action === 'list' ? tool !== '' : rest.length > 0) throw wrongUsage('too many arguments')
  const { config, json, header = [] } = values
  return {
    action,
    server,
    tool,
    args: toolArguments(args),
    headers: Object.fromEntries(header.map(readHeader)),
    json,
    config
  }
}

function toolArguments (text: string): Invocation['args'] {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw wrongUsage('the arguments of a tool must be a JSON object', cause)
  }
  if (!isObject(value)) throw wrongUsage('the arguments of a tool must be a JSON object')
  return value
}

function wrongUsage (message: string, cause?: unknown): CommandError {
  return new CommandError(message, { cause, exitCode: 2 })
}

function readHeader (text: string): [string, string] {
  const [, name = text, value = ''] = /^([^:]+):(.*)$/.exec(text) ?? []
  return [name, value.trim()]
}

/**
 * Prints the tools of a server, or the result of one of them.
 *
 * @returns 1 if the tool reports an error
 * @throws CommandError if the server cannot be used, or has no such tool
 */
export async function useTools (
  { action, server, tool, args, headers, json }: Invocation,
  settings: Pick<Settings, 'tools' | 'toolServers'>,
  out: Terminal['out']
): Promise<ExitCode> {
  const servers = createToolServers(withHost(settings, server))
  try {
    const spec = /^https?:\/\//i.test(server) ? { url: server } : { slug: server }
    const { signal } = new AbortController()
    const open = await servers.open({
      request: { mcp_servers: { ...spec, headers } },
      key: { id: '' },
      reservedNames: new Set(),
      signal
    })
    const [failed] = Object.entries(open.errors)
    if (failed !== undefined) throw failure(...failed)
    if (action === 'call') return await callTool(open, tool, args, json, out)
    out(
      json
        ? JSON.stringify(
            open.offered.map(({ tool }) => tool),
            null,
            2
          )
        : open.offered.map(asText).join('\n')
    )
    return 0
  } finally {
    await servers.close()
  }
}

/** Allows the host of the URL: whoever runs the command can reach it anyway. */
function withHost <S extends Pick<Settings, 'tools'>> (settings: S, server: string): S {
  if (!URL.canParse(server)) return settings
  const { tools } = settings
  return { ...settings, tools: { ...tools, allowedHosts: [...tools.allowedHosts, new URL(server).hostname] } }
}

function failure (
  server: string,
  { message, code = 'unknown', recommendation }: OpenTools['errors'][string]
): CommandError {
  return new CommandError(
    `${server}: ${message} (${code})${recommendation === undefined ? '' : `\n${recommendation}`}`
  )
}

async function callTool (
  open: OpenTools, tool: string, args: Invocation['args'], json: boolean, out: Terminal['out']
): Promise<ExitCode> {
  const name = open.offered.find(offered => offered.tool.name === tool)?.name
  if (name === undefined) {
    throw new CommandError(
      `unknown tool "${tool}"; tools are ${open.offered.map(offered => offered.tool.name).join(', ')}`
    )
  }
  const { text, result } = await open.call(name, args, { signal: new AbortController().signal })
  out(json ? JSON.stringify(result, null, 2) : text)
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
  return `${tool.name}${hints.length === 0 ? '' : ` (${hints.join(', ')})`}\n    ${description}`
}
