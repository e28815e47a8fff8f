/** Reads the tools and tool choice of a request. */

import { GatewayError, unsupportedValue } from '../../core/errors.ts'
import { isObject, nonEmptyText, objectsOf } from '../../json/type-guards.ts'
import { Approvals } from './approvals.ts'
import type { SentNames } from './sent-names.ts'
import type {
  CustomTool,
  FunctionTool,
  McpTool,
  ResponsesTool,
  ResponsesToolChoice
} from '../../../schemas/responses.ts'
import type { FunctionTool as OfferedTool, ToolChoice, ToolServerSpec } from '../../../schemas/tools.ts'

/** A declared tool, with its place in the request: `tools[0]`. */
export interface PlacedTool {
  readonly tool: ResponsesTool
  readonly place: string
}

export interface ReadTools {
  readonly tools: readonly OfferedTool[]
  /** Where the tools came from. */
  readonly places: ReadonlyMap<object, string>
  readonly servers: readonly ToolServerSpec[]
  readonly approvals: Approvals
}

/**
 * Returns the tools offered to a provider, under their provider names.
 *
 * @param added by items, in order. One replaces an earlier one of its name, unless `tools` has that name
 * @param trusted names of other servers of the request, whose tools need no approval
 * @throws GatewayError `unsupported_value` for a tool server without `server_url`, or a filter by a server's
 *   own claims; `invalid_value` for the label of another server
 */
export function readTools (
  given: readonly ResponsesTool[],
  names: SentNames,
  added: readonly PlacedTool[] = [],
  trusted: readonly string[] = []
): ReadTools {
  const own: OfferedTool[] = []
  const ownNames = new Set<string>()
  const ofItems = new Map<string, OfferedTool>()
  const places = new Map<object, string>()
  const servers: ToolServerSpec[] = []
  const mcp: McpTool[] = []
  let labels: Map<string, string> | undefined
  const declared = given.map((tool, index): PlacedTool => ({ tool, place: `tools[${index}]` }))
  for (const [index, { tool, place }] of [...declared, ...added].entries()) {
    const offer = (tool: OfferedTool, place: string): void => {
      const { name } = tool.function
      places.set(tool, place)
      if (index >= given.length) ofItems.set(name, tool)
      else {
        own.push(tool)
        ownNames.add(name)
      }
    }
    if (isFunction(tool)) offer(functionTool(tool, names), place)
    else if (isCustom(tool)) offer(customTool(tool, names), place)
    else if (tool.type === 'namespace' && 'tools' in tool) {
      for (const [position, inner] of tool.tools.entries()) {
        offer(
          inner.type === 'function'
            ? functionTool(inner, names, tool.name)
            : customTool(inner, names, tool.name),
          `${place}.tools[${position}]`
        )
      }
    } else if (isServer(tool)) {
      labels ??= new Map(trusted.map(name => [name, '']))
      const declared = JSON.stringify(tool)
      if (labels.get(tool.server_label) === declared) continue // declared again without changes
      if (labels.has(tool.server_label)) throw takenLabel(place)
      labels.set(tool.server_label, declared)
      mcp.push(tool)
      servers.push(serverOf(tool, place))
    }
  }
  const tools = [...own, ...[...ofItems.values()].filter(tool => !ownNames.has(tool.function.name))]
  return { tools, places, servers, approvals: new Approvals(mcp, trusted) }
}

/** Returns the tools that an item adds to the request. */
export function toolsOfItem (
  { type, tools }: { readonly type?: unknown, readonly tools?: unknown }
): readonly object[] {
  return type === 'additional_tools' || type === 'tool_search_output' ? objectsOf(tools) : []
}

/** Returns a tool without what only its server may get. */
export function withoutCredentials (tool: object): Record<string, unknown> {
  const { authorization: _, headers: __, ...rest } = tool as Record<string, unknown> // JSON
  return Reflect.get(tool, 'type') === 'mcp' ? rest : { ...tool }
}

function isFunction (tool: ResponsesTool): tool is FunctionTool {
  return tool.type === 'function'
}

function isCustom (tool: ResponsesTool): tool is CustomTool {
  return tool.type === 'custom'
}

function isServer (tool: ResponsesTool): tool is McpTool {
  return tool.type === 'mcp'
}

function functionTool (
  { name, description, parameters, strict }: FunctionTool,
  names: SentNames,
  namespace?: string
): OfferedTool {
  return {
    type: 'function',
    function: {
      name: names.add({ name, kind: 'function', ...namespace !== undefined && { namespace } }),
      ...typeof description === 'string' && { description },
      ...isObject(parameters) && { parameters },
      ...typeof strict === 'boolean' && { strict }
    }
  }
}

/** Converts a custom tool, which few providers support, to a function. */
function customTool (
  { name, description, format }: CustomTool,
  names: SentNames,
  namespace?: string
): OfferedTool {
  return {
    type: 'function',
    function: {
      name: names.add({ name, kind: 'custom', ...namespace !== undefined && { namespace } }),
      description: [description, grammarNote(format)]
        .filter(text => nonEmptyText(text) !== undefined)
        .join('\n\n'),
      parameters: {
        type: 'object',
        properties: { input: { type: 'string', description: 'The input of the tool, as plain text.' } },
        required: ['input'],
        additionalProperties: false
      }
    }
  }
}

/** Describes a grammar that cannot be enforced. */
function grammarNote (format: CustomTool['format']): string | undefined {
  if (!isObject(format) || format['type'] !== 'grammar') return undefined
  const { syntax, definition } = format
  return `The input must match this ${String(syntax)} grammar:\n${String(definition)}`
}

/** Labels must be unique: approval of one server's tools must not extend to another server. */
function takenLabel (path: string): GatewayError {
  return new GatewayError('invalid_value', {
    param: `${path}.server_label`,
    message: 'Another tool server in the request has this label. Send a different one.'
  })
}

function serverOf (tool: McpTool, path: string): ToolServerSpec {
  const { server_label: name, server_url: url, headers, authorization, allowed_tools: allowed } = tool
  if (typeof url !== 'string') {
    throw unsupportedValue(
      `${path}.server_url`,
      'A tool server needs `server_url`: connectors and tunnels are not available here.'
    )
  }
  if (isObject(allowed) && allowed['read_only'] != null) {
    throw unsupportedValue(
      `${path}.allowed_tools.read_only`,
      'Tool servers are not trusted to say which tools are read-only: send `tool_names`.'
    )
  }
  const allowedNames = isObject(allowed) ? allowed['tool_names'] : allowed
  return {
    name,
    url,
    ...isObject(headers) && { headers },
    ...typeof authorization === 'string' && { authorization: bearer(authorization) },
    ...Array.isArray(allowedNames) && { allowed_tools: allowedNames.filter(name => typeof name === 'string') }
  }
}

/** Callers of this API send the bare token. */
function bearer (authorization: string): string {
  return /^\S+ /.test(authorization) ? authorization : `Bearer ${authorization}`
}

/**
 * Returns the choice in chat-completions format. Entries of `allowed_tools` that name a tool server stay
 * unchanged until its tools are known.
 *
 * @param hasServers true if the request names tool servers
 * @throws GatewayError `unsupported_value` for a hosted tool of OpenAI, and if nothing else is allowed
 */
export function readToolChoice (
  choice: ResponsesToolChoice,
  names: SentNames,
  hasServers: boolean
): ToolChoice {
  if (typeof choice === 'string') return choice
  if ('mode' in choice) {
    const tools = choice.tools.flatMap(tool => allowedTool(tool, names, hasServers))
    if (tools.length === 0) {
      throw unsupportedValue(
        'tool_choice.tools',
        'None of the allowed tools is available: this model cannot use tools hosted by OpenAI.'
      )
    }
    return { type: 'allowed_tools', allowed_tools: { mode: choice.mode, tools } }
  }
  if ('server_label' in choice) {
    const { name, server_label: server } = choice
    if (typeof name === 'string') return { server_label: server, name }
    return hasServers
      ? {
          type: 'allowed_tools',
          allowed_tools: { mode: 'required', tools: [{ type: 'mcp', server_label: server }] }
        }
      : 'required'
  }
  if ('name' in choice) {
    return { type: 'function', function: { name: names.sent(choice.name, choice.namespace) } }
  }
  throw unsupportedValue(
    'tool_choice',
    `The tool \`${choice.type}\` is hosted by OpenAI and is not available through this gateway.`
  )
}

/** Skips OpenAI's hosted tools, which are not offered to other providers. */
function allowedTool (
  tool: Record<string, unknown>,
  names: SentNames,
  hasServers: boolean
): Array<Record<string, unknown>> {
  if (tool['type'] === 'mcp') return hasServers ? [tool] : []
  const name = nonEmptyText(tool['name'])
  if (name === undefined) return []
  return [{ type: 'function', function: { name: names.sent(name, nonEmptyText(tool['namespace'])) } }]
}
