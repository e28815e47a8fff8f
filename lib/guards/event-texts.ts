/** Where the events of an answer contain text. */

import {
  address,
  everywhere,
  fixed,
  freeText,
  jsonSchema,
  text,
  toolArguments,
  toolCall,
  toolResult,
  unlistedPiece,
  unseen,
  PlaceTable,
  type ReplaceText,
  type TextPlace
} from '../json/place-table.ts'
import { GatewayError } from '../core/errors.ts'
import { withoutRepeatedKeys } from '../json/object-text.ts'
import { parseBounded } from '../json/parse-bounded.ts'
import { parseBoundedText } from '../json/parse-text.ts'
import { isContainer, isObject, type JsonObject } from '../json/type-guards.ts'
import { spliceInSlices, spliceStrings } from '../json/splice-strings.ts'
import type { ChatEvent } from '../core/events.ts'
import type { DirectTexts } from '../dialects/dialect.ts'
import { replaceInSlices } from './replace-in-slices.ts'
import type { PlaceFilters } from './text-filter.ts'

/** A piece of text in an event; more pieces may follow. */
export interface TextPiece {
  /** Identifies the text within its queue. */
  readonly key: string
  readonly text: string
  readonly place: TextPlace
}

/** The pieces of an event, each of a different text. */
export interface EventPieces {
  readonly list: readonly TextPiece[]
  /** Returns the event with its texts replaced, in the same order and number. */
  readonly replacedBy: (texts: readonly string[]) => ChatEvent
}

/** An event whose complete texts have been replaced. */
export interface ReadEvent {
  readonly event: ChatEvent
  /** Events of one queue keep their order: those of a choice. `undefined` if it waits for no text. */
  readonly queue: number | undefined
  readonly pieces?: EventPieces | undefined
  /** The key prefix of the texts that end with this event. */
  readonly ends?: string | undefined
}

const allTexts = everywhere(undefined)
/** Texts in fields that are in no dialect's schema. */
const extraFields = new PlaceTable({ 'tool_event.message': toolResult })
const listedTool = new PlaceTable({
  name: unseen('the name of a tool, by which its calls are found'),
  description: text,
  'inputSchema.**': jsonSchema,
  'annotations.**': freeText
})
const annotations = new PlaceTable({ '**': text, '[].url_citation.url': address })

/**
 * Reads the texts of an event.
 *
 * @throws GatewayError as `replace` does; `upstream_invalid_response` for a message that is not JSON
 */
export function readEvent (
  event: ChatEvent,
  replace: ReplaceText,
  direct: DirectTexts | undefined
): ReadEvent {
  switch (event.type) {
    case 'text-delta':
    case 'refusal-delta':
    case 'reasoning-delta':
    case 'tool-call-delta':
    case 'audio-delta':
      return { event, queue: event.choice, pieces: piecesOf(event) }
    case 'tool-call-end':
      return { event, queue: event.choice, ends: callKey(event.callIndex) }
    case 'choice-end':
      return { event: changedIn(event, 'stopSequence', allTexts, replace), queue: event.choice, ends: '' }
    case 'thinking-block':
      if (event.block.type === 'thinking') replace(event.block.thinking, fixed)
      return { event, queue: event.choice }
    case 'annotation-delta':
      return { event: changedIn(event, 'annotations', annotations, replace), queue: event.choice }
    case 'tool-call-start':
      return { event: changedIn(event, 'extra', extraFields, replace), queue: event.choice }
    case 'extra':
      return event.scope === 'answer'
        ? { event: changedIn(event, 'fields', extraFields, replace), queue: 0 }
        : readChoiceFields(event, replace)
    case 'tool-result':
    case 'tool-approval-needed':
    case 'tool-servers-failed':
    case 'tools-listed':
      return { event: changedToolServerEvent(event, replace), queue: 0 }
    case 'direct-answer':
      return { event: changedJson(event, direct?.answer ?? allTexts, replace), queue: 0 }
    case 'direct-frame':
      return direct === undefined
        ? { event: changedJson(event, allTexts, replace), queue: 0 }
        : readFrame(event, replace, direct)
    case 'usage':
    case 'answer-start':
      return { event, queue: undefined }
    default:
      return event satisfies never
  }
}

type Delta = ChatEvent & {
  readonly type: 'text-delta' | 'refusal-delta' | 'reasoning-delta' | 'tool-call-delta' | 'audio-delta'
}

/** Returns the piece of a delta; `undefined` for audio without a transcript. */
function piecesOf (event: Delta): EventPieces | undefined {
  switch (event.type) {
    case 'text-delta':
    case 'refusal-delta':
      return onePiece(event.type, event.text, text, changed => withoutLogprobs({ ...event, text: changed }))
    case 'reasoning-delta':
      return onePiece(event.type, event.text, text, changed => ({ ...event, text: changed }))
    case 'tool-call-delta':
      return onePiece(
        callKey(event.callIndex),
        event.text,
        event.kind === 'custom' ? toolCall : toolArguments,
        changed => ({ ...event, text: changed })
      )
    case 'audio-delta': {
      const { transcript } = event.audio
      return typeof transcript !== 'string'
        ? undefined
        : onePiece(event.type, transcript, text, changed => ({
            ...event,
            audio: { ...event.audio, transcript: changed }
          }))
    }
    default:
      return event satisfies never
  }
}

function onePiece (
  key: string,
  text: string,
  place: TextPlace,
  replacedBy: (text: string) => ChatEvent
): EventPieces {
  return { list: [{ key, text, place }], replacedBy: ([changed = '']) => replacedBy(changed) }
}

type ChoiceFields = ChatEvent & { readonly type: 'extra', readonly choice: number }

/**
 * Reads unknown fields of a choice or its message. A provider may stream text there, such as
 * `reasoning_details`. They are never changed.
 */
function readChoiceFields (event: ChoiceFields, replace: ReplaceText): ReadEvent {
  extraFields.replace(event.fields, (text, place) => place.isName === true ? replace(text, place) : text)
  const list = stringsIn(event.fields, event.scope).map(piece => ({ ...piece, place: unlistedPiece }))
  return { event, queue: event.choice, pieces: { list, replacedBy: () => event } }
}

/** Lists the strings of a value, each with its path below a key. */
function stringsIn (value: unknown, key: string): ReadonlyArray<Pick<TextPiece, 'key' | 'text'>> {
  if (typeof value === 'string') return value === '' ? [] : [{ key, text: value }]
  if (!isContainer(value)) return []
  return Object.entries(value).flatMap(([name, inner]) => stringsIn(inner, `${key} ${name}`))
}

type ToolServerEvent = ChatEvent & {
  readonly type: 'tool-result' | 'tool-approval-needed' | 'tool-servers-failed' | 'tools-listed'
}

/** Replaces the texts of a tool server event. */
function changedToolServerEvent (event: ToolServerEvent, replace: ReplaceText): ChatEvent {
  switch (event.type) {
    case 'tool-result': {
      const result = changedIn(
        changedIn(event.result, 'arguments', allTexts, replace),
        'result',
        allTexts,
        replace
      )
      return result === event.result ? event : { ...event, result }
    }
    case 'tool-approval-needed':
      return changedIn(event, 'arguments', everywhere('tool_call'), replace)
    case 'tool-servers-failed':
      return changedIn(event, 'errors', allTexts, replace)
    case 'tools-listed': {
      const tools = event.tools.map(tool => listedTool.replace(tool, replace))
      return tools.every((tool, index) => tool === event.tools[index]) ? event : { ...event, tools }
    }
    default:
      return event satisfies never
  }
}

function callKey (call: number): string {
  return `call ${call};`
}

/** Removes logprobs, which would reveal the replaced text. */
function withoutLogprobs (event: ChatEvent & { type: 'text-delta' | 'refusal-delta' }): ChatEvent {
  const { logprobs: _, ...rest } = event
  return rest
}

function changedIn<T extends object> (holder: T, name: keyof T, places: PlaceTable, replace: ReplaceText): T {
  const value = places.replace(holder[name], replace)
  return value === holder[name] ? holder : { ...holder, [name]: value }
}

function changedJson<E extends ChatEvent & { readonly json: string }> (
  event: E,
  places: PlaceTable,
  replace: ReplaceText
): E {
  const json = places.replaceIn(event.json, replace)
  return json === event.json ? event : { ...event, json }
}

export type Frame = ChatEvent & { readonly type: 'direct-frame' }

function readFrame (event: Frame, replace: ReplaceText, direct: DirectTexts): ReadEvent {
  const parsed = readJson(() => parseBounded(event.json))
  if (!isObject(parsed)) return { event: changedJson(event, allTexts, replace), queue: 0 }
  const value = typedFrame(event, parsed)
  const found: Piece[] = []
  const changed = direct.frames.replace(value, withoutPieces(replace, found))
  const json = spliceStrings(withoutRepeatedKeys(event.json, parsed), value, changed)
  return readPieces(event, { value, changed, json, found }, direct)
}

/** Reads a large stream message like `readEvent`, in slices. */
export async function readLargeFrame (
  event: Frame,
  filters: PlaceFilters,
  direct: DirectTexts
): Promise<ReadEvent> {
  const parsed = await parseBoundedText(event.json).catch(invalidJson)
  if (!isObject(parsed)) return readFrame(event, filters.replace, direct)
  const value = typedFrame(event, parsed)
  let found: Piece[] = []
  const changed = await replaceInSlices(value, filters, (value, replace) => {
    found = []
    return direct.frames.replaceInSlices(value, withoutPieces(replace, found))
  })
  const json = await spliceInSlices(event.json, value, changed)
  return readPieces(event, { value, changed, json, found }, direct)
}

function invalidJson (cause: unknown): never {
  throw new GatewayError('upstream_invalid_response', { cause })
}

function readJson (parse: () => unknown): unknown {
  try {
    return parse()
  } catch (cause) {
    return invalidJson(cause)
  }
}

/** Some servers send the type only as the SSE event name. */
function typedFrame ({ name }: Frame, message: JsonObject): JsonObject {
  return { type: name, ...message }
}

type Piece = Pick<TextPiece, 'text' | 'place'>

/** Collects pieces without changing them. */
function withoutPieces (replace: ReplaceText, found: Piece[]): ReplaceText {
  return (text, place) => {
    if (place.isPiece !== true) return replace(text, place)
    found.push({ text, place })
    return text
  }
}

interface ChangedFrame {
  readonly value: JsonObject
  /** The message with its complete texts replaced. */
  readonly changed: JsonObject
  readonly json: string
  readonly found: readonly Piece[]
}

function readPieces (event: Frame, frame: ChangedFrame, direct: DirectTexts): ReadEvent {
  const { value, changed, json, found } = frame
  const other = json === event.json ? event : { ...event, json }
  const { key, ends } = direct.textOf(event.name ?? '', value)
  const list = found.map(({ text, place }, at) => {
    const number = found.slice(0, at).filter(({ place: { textName } }) => textName === place.textName).length
    return { key: `${key} ${place.textName} ${number}`, text, place }
  })
  const replacedBy = (texts: readonly string[]): Frame => {
    let next = 0
    const replaced = direct.frames.replace(changed, (text, place) =>
      place.isPiece === true ? texts[next++] ?? text : text)
    return { ...other, json: spliceStrings(json, changed, replaced) }
  }
  return { event: other, queue: 0, ends, ...list.length > 0 && { pieces: { list, replacedBy } } }
}
