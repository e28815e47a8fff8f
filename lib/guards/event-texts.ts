/** Where the events of an answer hold text. */

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
  unseen,
  PlaceTable,
  type ReplaceText,
  type TextPlace
} from '../json/place-table.ts'
import { GatewayError } from '../core/errors.ts'
import { withoutRepeatedKeys } from '../json/object-text.ts'
import { parseBounded } from '../json/parse-bounded.ts'
import { isObject } from '../json/guards.ts'
import { spliceStrings } from '../json/splice-strings.ts'
import type { ChatEvent } from '../core/events.ts'
import type { DirectTexts } from '../dialects/dialect.ts'

/** The piece of a text that an event holds; others may follow. */
export interface TextPiece {
  /** Names the text among those of its queue. */
  readonly key: string
  readonly text: string
  readonly place: TextPlace
  /** Returns the event with another piece. */
  readonly with: (text: string) => ChatEvent
}

/** An event whose complete texts are replaced. */
export interface ReadEvent {
  readonly event: ChatEvent
  /** Events of one queue stay in their order: those of a choice. `undefined`: it waits for no text. */
  readonly queue: number | undefined
  readonly piece?: TextPiece | undefined
  /** The texts that end with it, by the beginning of their keys. */
  readonly ends?: string | undefined
}

const allTexts = everywhere(undefined)
/**
 * Fields that no dialect knows: what they are for is not known here either, but for what a tool says while it
 * runs.
 */
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
      return { event, queue: event.choice, piece: pieceOf(event) }
    case 'tool-call-end':
      return { event, queue: event.choice, ends: callKey(event.call) }
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
      return {
        event: changedIn(event, 'fields', extraFields, replace),
        queue: event.scope === 'answer' ? 0 : event.choice
      }
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
    case 'response-start':
      return { event, queue: undefined }
    default:
      return event satisfies never
  }
}

type Delta = ChatEvent & {
  readonly type: 'text-delta' | 'refusal-delta' | 'reasoning-delta' | 'tool-call-delta' | 'audio-delta'
}

/** Returns the text of a delta; `undefined` for audio without a transcript. */
function pieceOf (event: Delta): TextPiece | undefined {
  switch (event.type) {
    case 'text-delta':
    case 'refusal-delta':
      return {
        key: event.type,
        text: event.text,
        place: text,
        with: changed => withoutLogprobs({ ...event, text: changed })
      }
    case 'reasoning-delta':
      return {
        key: event.type,
        text: event.text,
        place: text,
        with: changed => ({ ...event, text: changed })
      }
    case 'tool-call-delta':
      return {
        key: callKey(event.call),
        text: event.text,
        place: event.kind === 'custom' ? toolCall : toolArguments,
        with: changed => ({ ...event, text: changed })
      }
    case 'audio-delta': {
      const { transcript } = event.audio
      return typeof transcript !== 'string'
        ? undefined
        : {
            key: event.type,
            text: transcript,
            place: text,
            with: changed => ({ ...event, audio: { ...event.audio, transcript: changed } })
          }
    }
    default:
      return event satisfies never
  }
}

type ToolServerEvent = ChatEvent & {
  readonly type: 'tool-result' | 'tool-approval-needed' | 'tool-servers-failed' | 'tools-listed'
}

/** Replaces the texts of an event about tool servers. */
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

/** Tokens of a text that is changed would say what stood there. */
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

type Frame = ChatEvent & { readonly type: 'direct-frame' }

/** @throws GatewayError `upstream_invalid_response` for what is not JSON: no adapter has parsed it yet */
function parsedFrame (json: string): unknown {
  try {
    return parseBounded(json)
  } catch (cause) {
    throw new GatewayError('upstream_invalid_response', { cause })
  }
}

function readFrame (event: Frame, replace: ReplaceText, direct: DirectTexts): ReadEvent {
  const parsed = parsedFrame(event.json)
  if (!isObject(parsed)) return { event: changedJson(event, allTexts, replace), queue: 0 }
  // Some servers say its type in front of it only.
  const value = { type: event.name, ...parsed }
  let found: { readonly text: string, readonly place: TextPlace } | undefined
  const changed = direct.frames.replace(value, (text, place) => {
    if (place.isPiece !== true) return replace(text, place)
    found = { text, place }
    return text
  })
  const json = spliceStrings(withoutRepeatedKeys(event.json, parsed), value, changed)
  const frame = json === event.json ? event : { ...event, json }
  const { key, ends } = direct.textOf(event.name ?? '', value)
  if (found === undefined) return { event: frame, queue: 0, ends }
  const withPiece = (piece: string): Frame => {
    const other = direct.frames.replace(changed, (text, place) => place.isPiece === true ? piece : text)
    return { ...frame, json: spliceStrings(json, changed, other) }
  }
  return { event: frame, queue: 0, piece: { key, ...found, with: withPiece } }
}
