/**
 * Repairs messages of tool servers before the client library validates them. It rejects a message as a whole:
 * one null member or one invalid tool would lose all tools of a server, or the result of a tool that was run.
 * Readable parts are kept, unreadable ones are named.
 */

import { imageKind } from '../images/files.ts'
import {
  isContainer,
  isList,
  isObject,
  nonEmptyText,
  numberOf,
  stringOrJson,
  textOfValue,
  type JsonObject
} from '../json/type-guards.ts'

/** The request that a message answers, as sent by the client library. */
export interface SentRequest {
  readonly id: unknown
  readonly method: string
}

/** Facts about the latest tool list, except the tools, collected while its pages arrive. */
export interface Listing {
  /** Tools that cannot be offered. */
  readonly leftOut: Set<string>
  /** Size of all pages so far. */
  bytes: number
  /** Maximum size of all pages together. */
  readonly maxBytes: number
}

/** JSON-RPC's generic server error. */
const serverError = -32000
/** The server ended its response without an answer. Our own code, unlikely to be used by servers. */
export const noAnswerCode = -32099
/** The answer was not valid JSON-RPC. Our own code. */
export const brokenAnswerCode = -32098
/** The gateway had no memory for the answer. */
export const noMemoryCode = -32097
/** This page makes the tool list too large. */
export const listTooLargeCode = -32096

/**
 * Returns a message that conforms to the protocol.
 *
 * @param request whose answer is expected; absent on notification streams
 * @param listing counts the pages of a tool list on all streams; a page above the maximum is replaced by an
 *   error
 */
export function repairMessage (value: unknown, request: SentRequest | undefined, listing: Listing): unknown {
  if (!isObject(value) || typeof value['method'] === 'string') return value
  const { id: givenId, error, result, ...rest } = value
  const isError = error !== undefined && error !== null
  const id = idOf(givenId, request)
  const isExpected = request !== undefined && id === request.id
  if (!isError && result === undefined) {
    return isExpected && isAnswer(value) ? noAnswer(request, brokenAnswerCode) : value
  }
  if (isError) return { ...rest, jsonrpc: '2.0', id, error: repairError(error) }
  if (isExpected && request.method === 'tools/list') {
    listing.bytes += Buffer.byteLength(JSON.stringify(result))
    if (listing.bytes > listing.maxBytes) {
      return { jsonrpc: '2.0', id, error: { code: listTooLargeCode, message: 'too large' } }
    }
  }
  return {
    ...rest,
    jsonrpc: '2.0',
    id,
    result: isExpected ? repairResult(request.method, result, listing) : result
  }
}

/** Returns an error message for a request without a readable answer. */
export function noAnswer ({ id }: SentRequest, code = noAnswerCode): JsonObject {
  return { jsonrpc: '2.0', id, error: { code, message: 'no answer' } }
}

/** Returns true for a message with a result or an error. */
export function isAnswer (message: unknown): boolean {
  return isObject(message) && typeof message['method'] !== 'string' &&
    ('result' in message || 'error' in message)
}

/** Returns true for a message that answers the request. */
export function answers (message: unknown, { id }: SentRequest): boolean {
  return isObject(message) && message['id'] === id && ('result' in message || 'error' in message)
}

/**
 * Returns an id as a string, because the answer's id may have another type. The client library converts
 * numeric strings to numbers.
 */
export function idText (id: unknown): string {
  if (typeof id !== 'string') return JSON.stringify(id) ?? ''
  const number = Number(id)
  return Number.isNaN(number) ? id : String(number)
}

/** Servers may send the request's id as a string, as a number, or not at all. */
function idOf (id: unknown, request: SentRequest | undefined): unknown {
  if (request === undefined) return id
  return id === undefined || id === null || idText(id) === idText(request.id) ? request.id : id
}

function repairError (error: unknown): JsonObject {
  if (!isObject(error)) return { code: serverError, message: String(error) }
  const { code, message, ...rest } = error
  return {
    ...rest,
    code: numberOf(code) ?? serverError,
    message: stringOrJson(message ?? '')
  }
}

function repairResult (method: string, result: unknown, listing: Listing): unknown {
  switch (method) {
    case 'initialize': return isObject(result) ? repairIntroduction(withoutNulls(result)) : result
    case 'tools/list': return repairList(result, listing)
    case 'tools/call': return repairToolResult(result)
    default: return isObject(result) ? withoutNulls(result) : result
  }
}

function repairIntroduction (result: JsonObject): JsonObject {
  const { capabilities, serverInfo, instructions, ...rest } = result
  const { name, version, ...facts } = isObject(serverInfo) ? withoutNulls(serverInfo) : {}
  return {
    ...rest,
    capabilities: repairCapabilities(capabilities),
    serverInfo: {
      ...facts,
      name: nonEmptyText(name) ?? 'unknown',
      version: version === undefined ? 'unknown' : stringOrJson(version)
    },
    ...typeof instructions === 'string' && { instructions }
  }
}

/**
 * Declares the tools capability if the server declares none: the client library would otherwise assume that
 * there are no tools.
 */
function repairCapabilities (given: unknown): JsonObject {
  const { tools, ...rest } = isObject(given) ? given : {}
  const others = withoutNulls(rest)
  if (tools === undefined && Object.keys(others).length > 0) return others
  return { ...others, tools: isObject(tools) ? withoutNulls(tools) : {} }
}

function repairList (result: unknown, { leftOut }: Listing): unknown {
  const list = isList(result) ? { tools: result } : isObject(result) ? withoutNulls(result) : {}
  const { tools, nextCursor, ...rest } = list
  const given = isList(tools)
    ? tools
    : isObject(tools)
      ? Object.entries(tools).map(([name, tool]) => (isObject(tool) ? { name, ...tool } : tool))
      : undefined
  if (given === undefined) return result
  const repaired = given.flatMap((tool, index) => {
    const found = repairTool(tool)
    if (found === undefined) leftOut.add(`number ${index + 1}`)
    return found ?? []
  })
  const cursor = typeof nextCursor === 'number' ? String(nextCursor) : nonEmptyText(nextCursor)
  return { ...rest, tools: repaired, ...cursor !== undefined && { nextCursor: cursor } }
}

/**
 * Returns a tool without its output schema, because any output is accepted; `undefined` for one without a
 * name, which could not be called, or with an invalid header, for which the client library would print a line
 * of the server's own words.
 */
function repairTool (tool: unknown): JsonObject | undefined {
  if (!isObject(tool)) return undefined
  const {
    name,
    title,
    description,
    inputSchema,
    input_schema: otherSpelling,
    outputSchema: _,
    annotations,
    execution,
    icons: __,
    _meta: meta,
    ...rest
  } = tool
  if (nonEmptyText(name) === undefined) return undefined
  if (!hasValidHeaders(inputSchema, 'schema') || !hasValidHeaders(otherSpelling, 'schema')) return undefined
  const hints = isObject(annotations)
    ? Object.fromEntries(
        Object.entries(annotations).filter(([key, value]) =>
          key.endsWith('Hint') ? typeof value === 'boolean' : typeof value === 'string'
        )
      )
    : undefined
  const support = isObject(execution) ? execution['taskSupport'] : undefined
  return {
    ...withoutNulls(rest),
    name,
    ...typeof title === 'string' && { title },
    ...typeof description === 'string' && { description },
    inputSchema: repairSchema(isObject(inputSchema) ? inputSchema : otherSpelling),
    ...hints !== undefined && { annotations: hints },
    ...typeof support === 'string' && { execution: { taskSupport: support } },
    ...isObject(meta) && { _meta: meta }
  }
}

const headerField = 'x-mcp-header'

/**
 * Returns true if each header that a schema declares is that of a text, an integer or a boolean among its
 * properties, or among theirs, and has its own name.
 *
 * @param place of the value: a schema, one of its properties at any depth, or anything else
 */
function hasValidHeaders (
  value: unknown,
  place: 'schema' | 'property' | 'elsewhere',
  taken = new Set<string>()
): boolean {
  if (!isContainer(value)) return true
  if (headerField in value) {
    const { [headerField]: header, type } = value as JsonObject
    const name = String(header).toLowerCase()
    if (place !== 'property' || typeof header !== 'string' || taken.has(name)) return false
    if (!/^[!#$%&'*+.^_`|~\w-]+$/.test(header) || !headerTypes.has(type)) return false
    taken.add(name)
  }
  const below = place === 'elsewhere' ? place : 'property'
  return Object.entries(value).every(([name, member]) =>
    name === 'properties' && isContainer(member)
      ? Object.values(member).every(property => hasValidHeaders(property, below, taken))
      : hasValidHeaders(member, 'elsewhere', taken)
  )
}

const headerTypes: ReadonlySet<unknown> = new Set(['string', 'integer', 'boolean'])

/** Makes the schema an object with properties, whatever the server omits. */
function repairSchema (schema: unknown): JsonObject {
  if (!isObject(schema)) return { type: 'object', properties: {} }
  const { type: _, properties, required, ...rest } = schema
  const names = isList(required) ? required.filter(name => typeof name === 'string') : []
  const repaired = isObject(properties)
    ? Object.fromEntries(
        Object.entries(properties).map(([name, value]) => [
          name,
          isObject(value) || typeof value === 'boolean' ? value : {}
        ])
      )
    : undefined
  return {
    ...withoutNulls(rest),
    type: 'object',
    ...repaired !== undefined && { properties: repaired },
    ...names.length > 0 && { required: names }
  }
}

function repairToolResult (result: unknown): unknown {
  if (!isObject(result)) return { content: contentOf(result) }
  const { content, structuredContent: structured, toolResult, isError, _meta: meta, ...rest } = result
  if (
    content === undefined &&
    structured === undefined &&
    toolResult === undefined &&
    ('resultType' in rest || 'task' in rest)
  ) {
    return result
  }
  const blocks = contentOf(content ?? toolResult)
  if (structured !== undefined && structured !== null && !isObject(structured)) {
    blocks.push({ type: 'text', text: stringOrJson(structured) })
  }
  return {
    ...withoutNulls(rest),
    content: blocks,
    ...isObject(structured) && { structuredContent: structured },
    ...(isError === true || isError === 'true') && { isError: true },
    ...isObject(meta) && { _meta: meta }
  }
}

function contentOf (content: unknown): JsonObject[] {
  if (content === undefined || content === null) return []
  const blocks: readonly unknown[] = isList(content) ? content : [content]
  return blocks.flatMap(block => block === null ? [] : [blockOf(block)])
}

/** Returns a block of a known type with all required members; others become text that names their type. */
function blockOf (block: unknown): JsonObject {
  if (!isObject(block)) return textBlock(stringOrJson(block))
  const { type, text } = block
  switch (type) {
    case 'text': return { ...common(block), type, text: stringOrJson(text ?? '') }
    case 'image':
    case 'audio': return mediaBlock(block, type)
    case 'resource': return resourceBlock(block)
    case 'resource_link': return linkBlock(block)
    case undefined:
    case null: return textBlock(typeof text === 'string' ? text : stringOrJson(block))
    default: return textBlock(
      typeof text === 'string' ? text : `[content of the unknown type ${textOfValue(type).slice(0, 64)}]`
    )
  }
}

function textBlock (text: string): JsonObject {
  return { type: 'text', text }
}

function mediaBlock (block: JsonObject, type: 'image' | 'audio'): JsonObject {
  const { data, mimeType } = block
  const media = base64Of(data)
  if (media === undefined) return textBlock(`[${type} without data]`)
  return { ...common(block), type, data: media, mimeType: nonEmptyText(mimeType) ?? mediaTypeOf(media) }
}

function resourceBlock (block: JsonObject): JsonObject {
  const { resource } = block
  if (!isObject(resource)) return textBlock('[resource without content]')
  const { uri, mimeType, text, blob } = resource
  const media = base64Of(blob)
  return {
    ...common(block),
    type: 'resource',
    resource: {
      ...withoutNulls(resource, ['uri', 'mimeType', 'text', 'blob', '_meta']),
      uri: nonEmptyText(uri) ?? 'unknown:',
      ...typeof mimeType === 'string' && { mimeType },
      ...media === undefined ? { text: stringOrJson(text ?? '') } : { blob: media }
    }
  }
}

function linkBlock (block: JsonObject): JsonObject {
  const { uri, name, title, description, mimeType } = block
  const label = nonEmptyText(name)
  if (nonEmptyText(uri) === undefined) {
    return textBlock(`[resource without an address${label === undefined ? '' : `: ${label}`}]`)
  }
  const size = numberOf(block['size'])
  return {
    ...withoutNulls(common(block), ['title', 'description', 'size']),
    type: 'resource_link',
    uri,
    name: label ?? uri,
    ...typeof title === 'string' && { title },
    ...typeof description === 'string' && { description },
    ...size !== undefined && { size },
    ...typeof mimeType === 'string' && { mimeType }
  }
}

/** The members that a block is rebuilt from, and those that the client library may refuse. */
const rebuilt = [
  'type', 'text', 'data', 'mimeType', 'resource', 'uri', 'name', 'annotations', '_meta', 'icons'
]

/** Returns the other members of a block, which are passed on. */
function common (block: JsonObject): JsonObject {
  return withoutNulls(block, rebuilt)
}

/**
 * Returns media as standard base64; also accepts data URLs, line breaks and the URL alphabet. Returns
 * `undefined` for anything else.
 */
function base64Of (data: unknown): string | undefined {
  if (typeof data !== 'string') return undefined
  const text = data.replace(/^data:[^,]{0,100};base64,/, '')
  if (/^[A-Za-z\d+/]*$/.test(text) && text.length % 4 !== 1) return text
  if (!/^[\w+/=\s-]*$/.test(text)) return undefined
  return Buffer.from(text, 'base64').toString('base64')
}

function mediaTypeOf (data: string): string {
  return imageKind(Buffer.from(data.slice(0, 16), 'base64'))?.mediaType ?? 'application/octet-stream'
}

/** @param omitted members that are left out as well */
function withoutNulls (value: JsonObject, omitted: readonly string[] = []): JsonObject {
  return Object.fromEntries(
    Object.entries(value).filter(([name, member]) => member !== null && !omitted.includes(name))
  )
}
