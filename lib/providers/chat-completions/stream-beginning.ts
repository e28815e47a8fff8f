/**
 * Keeps how the streams of a model begin: with a chunk of the role and one of text, which are those of the last stream but for their
 * id, their time and the text. Of a stream whose role comes as it did before, no text has to be parsed: 4 µs less.
 */

import { objectOf, onlyObjectOf } from '../../json/guards.ts'
import { copyString } from '../../text/copy-string.ts'
import { memoized } from '../../text/memoized.ts'
import type { TextTemplate } from '../text-template.ts'
import type { WireAnswer, WireChoice, WireDelta } from './wire.ts'

/** Matches the id and the time of a chunk. */
const start = /^\{"id":"[^"\\]{1,128}","object":"[^"\\]{1,64}","created":\d{1,15}(?=,)/
/** Longer chunks are not kept. */
const maxLength = 4096

interface Role {
  readonly start: string
  readonly rest: string
}

interface Known extends Role {
  /** The template of the chunk behind that of the role. */
  readonly template: TextTemplate
}

const known = memoized((): { last?: Known } => ({}))

export class StreamBeginning {
  readonly #known: { last?: Known }
  #role: Role | undefined

  constructor (modelId: string) {
    this.#known = known(modelId)
  }

  /** Notes a chunk of the role, the first of a stream. @returns the template of the texts that follow, where it is known */
  noteRole (data: string, chunk: WireAnswer): TextTemplate | undefined {
    const [found] = start.exec(data) ?? []
    // A choice that has not begun with it begins with the text.
    if (found === undefined || typeof onlyChoiceOf(chunk).index !== 'number' || data.length > maxLength) return undefined
    const rest = data.slice(found.length)
    const { last } = this.#known
    const isKnown = last?.rest === rest
    this.#role = { start: copyString(found), rest: isKnown ? last.rest : copyString(rest) }
    return isKnown ? last.template.startingWith(found, last.start) : undefined
  }

  /** Notes the chunk that came after it, of which only its text was read. */
  noteText (chunk: WireAnswer, template: TextTemplate | undefined): void {
    const role = this.#role
    if (role === undefined || template === undefined || !hasOnlyText(chunk)) return
    this.#known.last = { ...role, template }
  }
}

/** Returns whether nothing is kept of a chunk but its text. */
function hasOnlyText (chunk: WireAnswer): boolean {
  const choice = onlyChoiceOf(chunk)
  const { tool_calls: toolCalls, function_call: functionCall }: WireDelta = objectOf(choice.delta) ?? {}
  const kept = [chunk.usage, Reflect.get(chunk, 'x_groq'), choice.finish_reason, choice.stop_reason, choice.matched_stop, toolCalls, functionCall]
  return kept.every(value => value === undefined || value === null)
}

function onlyChoiceOf ({ choices }: WireAnswer): WireChoice {
  return onlyObjectOf(choices) ?? {}
}
