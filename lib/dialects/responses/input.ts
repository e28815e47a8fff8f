/** Converts a Responses API request to the shared input. */

import { requestedServers } from '../../chat/requested-servers.ts'
import { updateCall } from '../../core/call.ts'
import { GatewayError, ValidationError } from '../../core/errors.ts'
import { nonEmptyText } from '../../json/type-guards.ts'
import { formatMegabytes } from '../../text/format-megabytes.ts'
import { compileCheck } from '../../validation/compile-check.ts'
import { explain } from '../../validation/explain.ts'
import { Approvals } from './approvals.ts'
import { responsesFieldName } from './field-name.ts'
import { identified, itemId } from './item-ids.ts'
import { continued, readItems } from './items.ts'
import { SentNames } from './sent-names.ts'
import { isReference, noStoredInput, type StoredInput } from './stored-input.ts'
import { readToolChoice, readTools, toolsOfItem, type PlacedTool } from './tools.ts'
import { ResponsesTool } from '../../../schemas/responses.ts'
import { maxToolServers } from '../../../schemas/tools.ts'
import type { ApprovedCall, ChatInput } from '../../chat/input.ts'
import type { ValidCall } from '../../core/call.ts'
import type { Route } from '../../core/route.ts'
import type { DialectCall } from '../dialect.ts'
import type { InputItem } from '../../../schemas/response-items.ts'
import type { ResponseObject, ResponsesRequest } from '../../../schemas/responses.ts'
import type { ResponseArchive, ResponseOrigin, ResponseToKeep } from './archive.ts'
import type { Message } from '../../../schemas/messages.ts'

/** What the answer repeats from the request or depends on. */
export interface ResponsesContext {
  /** `resp_…` */
  readonly id: string
  readonly request: ResponsesRequest
  /** Its items, including referenced ones. */
  readonly items: readonly InputItem[]
  /** What the request uses from stored responses. */
  readonly stored: StoredInput
  /** Why only a provider of this dialect can answer; absent if others can. */
  readonly untranslatable?: GatewayError
  /** Routes that received the caller's own text, with the account of each. */
  readonly direct: { readonly accounts: Map<Route, () => string> }
  readonly names: SentNames
  readonly approvals: Approvals
  /** Servers whose tools the conversation already lists. */
  readonly listed: ReadonlySet<string>
  /** Stores the response. Absent if it is not stored. */
  readonly keep?: KeepResponse
  /** Returns what to store of a response. */
  readonly kept: (response: ResponseObject) => Omit<ResponseToKeep, 'keyId'>
  /** A background response as the caller first got it. */
  readonly queued?: ResponseObject
}

/**
 * Stores a response before its end is sent.
 *
 * @param origin of a response that its provider also stores
 * @returns the response for the caller, which says so if it could not be stored
 */
export type KeepResponse = (response: ResponseObject, origin?: ResponseOrigin) => Promise<ResponseObject>

export interface ResponsesInputOptions {
  /** Stores responses. Absent if nothing is stored. */
  readonly archive?: ResponseArchive | undefined
  /** What the request uses from stored responses. */
  readonly stored?: StoredInput | undefined
  /** Calls whose approvals were checked before guards replaced texts. Default: none. */
  readonly checked?: readonly ApprovedCall[] | undefined
}

/** @throws GatewayError `invalid_value` or `unsupported_parameter` with the invalid parameter */
export function responsesInput (
  call: ValidCall<ResponsesRequest>,
  { archive, stored = noStoredInput, checked }: ResponsesInputOptions = {}
): DialectCall<ResponsesContext> {
  const { request, key, record } = call
  const isLarge = archive !== undefined && record.request.bodyBytes > archive.maxBodyBytes
  checkBackground(request, archive, record.request.bodyBytes)
  const { continuation } = stored
  const items = itemsOf(request, stored)
  const { input, names, approvals, listed, untranslatable } = translated(
    request,
    items,
    continuation?.items,
    checked
  )
  const kept = (response: ResponseObject): Omit<ResponseToKeep, 'keyId'> => {
    const { items: input, newIds } = identified(items)
    // other providers of this dialect may omit ids
    const outputIds = response.output.flatMap(({ id }) => (typeof id === 'string' ? [id] : []))
    return {
      response,
      input,
      itemIds: [...newIds, ...outputIds],
      endUser: record.caller.endUser,
      placeholders: record.guards.placeholders?.sealed(),
      ...continuation !== undefined && { previous: continuation }
    }
  }
  const keep: KeepResponse | undefined =
    archive?.keeps !== true || request.store === false || isLarge
      ? undefined
      : async (response, origin) => {
          await call.journalAnswer?.(call)
          try {
            await archive.keep({ keyId: key.id, ...kept(response), origin })
            return response
          } catch (error) {
            record.end.cause = error
            return { ...response, store: false }
          }
        }
  const context: ResponsesContext = Object.assign(
    {
      id: itemId('resp'),
      request,
      items,
      stored,
      direct: { accounts: new Map<Route, () => string>() },
      kept,
      names,
      approvals,
      listed
    },
    untranslatable !== undefined && { untranslatable },
    keep !== undefined && { keep }
  )
  const origin =
    continuation?.origin ??
    (stored.items.size === 0
      ? undefined
      : [...stored.items.values()].findLast(item => item.origin !== undefined)?.origin)
  return updateCall(call, { request: input, context, origin })
}

interface Translation extends Pick<ResponsesContext, 'names' | 'approvals' | 'listed' | 'untranslatable'> {
  readonly input: ChatInput
}

/** Converts the request to a conversation; an empty one if only a provider of this dialect can serve it. */
function translated (
  request: ResponsesRequest,
  items: readonly InputItem[],
  earlier: readonly InputItem[] | undefined,
  checked: readonly ApprovedCall[] | undefined
): Translation {
  try {
    return translation(request, items, earlier, checked)
  } catch (error) {
    if (
      !(error instanceof GatewayError) ||
      (error.code !== 'unsupported_value' && error.code !== 'unsupported_parameter')
    ) {
      throw error
    }
    return {
      names: new SentNames(),
      approvals: new Approvals([]),
      listed: new Set(),
      untranslatable: error.with({ fault: 'unsupported' }),
      input: {
        model: request.model,
        messages: [],
        originalInput: { field: 'input', places: new Map() },
        callerNames,
        asWritten: asWritten(request, items, earlier),
        ...settingsOf(request)
      }
    }
  }
}

/** Returns the request with the items that it refers to; those that it continues stand in for their id. */
function asWritten (
  request: ResponsesRequest,
  items: readonly InputItem[],
  earlier: readonly InputItem[] | undefined
): object {
  const isComplete = earlier === undefined && (items === request.input || typeof request.input === 'string')
  return isComplete ? request : { ...request, ...earlier && { previous_response_id: earlier }, input: items }
}

function translation (
  request: ResponsesRequest,
  items: readonly InputItem[],
  earlier: readonly InputItem[] | undefined,
  checked: readonly ApprovedCall[] | undefined
): Translation {
  refuseKeptElsewhere(request)
  const names = new SentNames()
  const trusted =
    request.mcp_servers === undefined ? [] : requestedServers(request).map(server => server.name)
  const added = [...earlierTools(earlier), ...additionalTools(items)]
  const declared = readTools(request.tools ?? [], names, added, trusted)
  if (trusted.length + declared.servers.length > maxToolServers) throw tooManyServers()
  const { messages, places, serverCalls, approved, listed } = readItems(
    items,
    names,
    declared.approvals,
    earlier,
    checked
  )
  const { instructions } = request
  const system: Message[] =
    instructions === undefined || instructions === '' ? [] : [{ role: 'system', content: instructions }]
  const servers: ChatInput['mcp_servers'] =
    declared.servers.length === 0
      ? request.mcp_servers
      : [request.mcp_servers ?? [], [...declared.servers]].flat()
  // Always validated: forcing one of OpenAI's tools is rejected even if no other tool is declared.
  const choice =
    request.tool_choice === undefined
      ? undefined
      : readToolChoice(request.tool_choice, names, hasServers(servers))
  return {
    names,
    approvals: declared.approvals,
    listed,
    input: Object.assign(
      {
        model: request.model,
        messages: [...system, ...messages],
        originalInput: {
          field: 'input',
          places: placesOf(request, [...system, ...messages], [...places, ...declared.places]),
          fieldName: responsesFieldName
        },
        callerNames,
        asWritten: asWritten(request, items, earlier)
      } satisfies ChatInput,
      declared.tools.length > 0 && { tools: [...declared.tools] },
      servers !== undefined && {
        mcp_servers: servers,
        toolApproval: {
          isNeeded: (server: string, tool: string) => declared.approvals.isNeeded(server, tool),
          calls: serverCalls,
          approved
        }
      },
      choice !== undefined && hasTools(declared.tools, servers) && { tool_choice: choice },
      settingsOf(request)
    )
  }
}

/** Adds the places of texts that are whole fields. */
function placesOf (
  { input, instructions }: ResponsesRequest,
  messages: readonly Message[],
  places: ReadonlyArray<readonly [object, string]>
): Map<object, string> {
  const all = new Map(places)
  const [first] = messages
  const last = messages.at(-1)
  if (first !== undefined && nonEmptyText(instructions) !== undefined) all.set(first, 'instructions')
  if (last !== undefined && typeof input === 'string') all.set(last, 'input')
  return all
}

function tooManyServers (): GatewayError {
  return new GatewayError('invalid_value', {
    param: 'tools',
    message: `A request may name up to ${maxToolServers} tool servers.`
  })
}

/** The caller's field names, for provider errors. */
const callerNames = {
  'tool_choice.allowed_tools.tools': 'tool_choice.tools',
  response_format: 'text.format',
  verbosity: 'text.verbosity',
  reasoning_effort: 'reasoning.effort',
  max_completion_tokens: 'max_output_tokens',
  max_tokens: 'max_output_tokens',
  logprobs: 'include'
}

/** Rejects what only a provider's account can store. */
function refuseKeptElsewhere (request: ResponsesRequest): void {
  for (const name of ['conversation', 'prompt'] as const) {
    if (request[name] !== undefined) {
      throw new GatewayError('unsupported_parameter', {
        param: name,
        message: `\`${name}\` is not available. Send the entire conversation as \`input\`.`
      })
    }
  }
}

/** Rejects background requests whose response would not be stored here. */
function checkBackground (
  request: ResponsesRequest,
  archive: ResponseArchive | undefined,
  bodyBytes: number
): void {
  if (request.background !== true) return
  if (request.store === false) {
    throw new GatewayError('invalid_value', {
      param: 'background',
      message: '`background` requires `store`.'
    })
  }
  if (archive?.keeps !== true) {
    throw new GatewayError('unsupported_parameter', {
      param: 'background',
      message: '`background` is not available: responses are not stored here.'
    })
  }
  if (bodyBytes > archive.maxBodyBytes) {
    throw new GatewayError('file_too_large', {
      param: 'background',
      message: `The body of a request with \`background\` may have up to ${formatMegabytes(archive.maxBodyBytes)}.`
    })
  }
}

function itemsOf (
  { input, conversation, prompt }: ResponsesRequest,
  { continuation, items: stored }: StoredInput
): readonly InputItem[] {
  if (typeof input === 'string') return [{ type: 'message', role: 'user', content: input }]
  const hasMore = continuation !== undefined || conversation !== undefined || prompt !== undefined
  if (hasMore && (input === undefined || input.length === 0)) return []
  if (input === undefined) {
    throw new GatewayError('invalid_value', {
      param: 'input',
      message: '`input` is required.',
      shownCode: 'missing_required_parameter'
    })
  }
  if (input.length === 0) {
    throw new GatewayError('invalid_value', {
      param: 'input',
      message: '`input` must have at least one item.',
      shownCode: 'empty_array'
    })
  }
  return stored.size === 0 ? input : input.map(item => withStored(item, stored))
}

/** Resolves references to stored items, and restores omitted reasoning state. */
function withStored (item: InputItem, stored: StoredInput['items']): InputItem {
  const found = typeof item.id === 'string' ? stored.get(item.id)?.item : undefined
  if (found === undefined) return item
  if (isReference(item)) return found
  return 'type' in item && item.type === 'reasoning' && 'type' in found && found.type === 'reasoning'
    ? found
    : item
}

/**
 * Returns the tools that items add.
 *
 * @throws ValidationError for a tool that would be invalid in `tools` too
 */
function additionalTools (items: readonly InputItem[]): PlacedTool[] {
  return items.flatMap((item, index) =>
    toolsOfItem(item).map((tool, position) => {
      if (!isTool(tool)) {
        throw new ValidationError(
          explain(ResponsesTool, tool, { loc: ['body', 'input', index, 'tools', position] })
        )
      }
      return { tool: tool as ResponsesTool, place: `input[${index}].tools[${position}]` } // checked above
    })
  )
}

/**
 * Returns the tools that items of the continued conversation added. Tool servers are not among them: their
 * credentials are not stored.
 */
function earlierTools (items: readonly InputItem[] = []): PlacedTool[] {
  return items.flatMap(toolsOfItem).flatMap(tool =>
    isTool(tool) && Reflect.get(tool, 'type') !== 'mcp'
      ? { tool: tool as ResponsesTool, place: continued } // checked above
      : []
  )
}

const isTool = compileCheck(ResponsesTool)

/** Drops the tool choice without tools, because providers reject it. */
function hasTools (tools: readonly unknown[], servers: ChatInput['mcp_servers']): boolean {
  return tools.length > 0 || hasServers(servers)
}

function hasServers (servers: ChatInput['mcp_servers']): boolean {
  return servers !== undefined && [servers].flat().length > 0
}

function settingsOf (request: ResponsesRequest): Partial<ChatInput> {
  const { text, reasoning, include = [], top_logprobs: topLogprobs, service_tier: tier } = request
  const effort = reasoning?.effort ?? undefined
  const verbosity = text?.verbosity ?? undefined
  const format = text?.format ?? undefined
  const logprobs = include.includes('message.output_text.logprobs') || (topLogprobs ?? 0) > 0
  return given({
    stream: request.stream,
    max_completion_tokens: request.max_output_tokens,
    temperature: request.temperature,
    top_p: request.top_p,
    parallel_tool_calls: request.parallel_tool_calls === false ? false : undefined,
    logprobs: logprobs ? true : undefined,
    top_logprobs: logprobs ? topLogprobs : undefined,
    response_format: format === undefined || format.type === 'text' ? undefined : formatOf(format),
    verbosity,
    reasoning_effort: effort,
    showsThinking: summaryOf(reasoning) === undefined ? undefined : true,
    reasoningSummary: summaryOf(reasoning),
    service_tier: tier === 'fast' || tier === 'ultrafast' ? 'priority' : tier,
    prompt_cache_key: request.prompt_cache_key,
    prompt_cache_retention: request.prompt_cache_retention,
    safety_identifier: request.safety_identifier,
    user: request.user,
    credentials: request.credentials,
    max_tool_calls: request.max_tool_calls,
    // At most one turn per call, one whose calls are refused, and the answer.
    max_turns:
      request.max_tool_calls === undefined
        ? request.max_turns
        : Math.min(request.max_tool_calls + 2, request.max_turns ?? 100, 100),
    model_attributes: request.model_attributes,
    agent_attributes: request.agent_attributes,
    cache: request.cache
  })
}

/** Returns the requested summary, which means wanting to see the thinking. */
function summaryOf (reasoning: ResponsesRequest['reasoning']): ChatInput['reasoningSummary'] {
  return reasoning?.summary ?? reasoning?.generate_summary ?? undefined
}

function formatOf (
  format: NonNullable<NonNullable<ResponsesRequest['text']>['format']>
): ChatInput['response_format'] {
  if (format.type !== 'json_schema') return { type: format.type }
  const { type, ...schema } = format
  return { type, json_schema: schema }
}

function given (fields: { readonly [K in keyof ChatInput]?: ChatInput[K] | undefined }): Partial<ChatInput> {
  const present: Record<string, unknown> = {}
  for (const name in fields) {
    const value = fields[name as keyof ChatInput]
    if (value !== undefined) present[name] = value
  }
  return present
}
