import { PrintedJson } from '../../core/reply.ts'
import { placeholder } from '../../json/placeholder.ts'
import { memoized } from '../../text/memoized.ts'
import { completionUsage } from './chunk.ts'
import { toCompletion } from './complete.ts'
import type { AnswerHead } from '../dialect.ts'
import type { ChatEvent, FinishReason } from '../../core/events.ts'
import type { Usage } from '../../core/usage.ts'
import type { Completion } from './fold.ts'

type Batches = ReadonlyArray<{ readonly events: readonly ChatEvent[] }>
type TextRun = ChatEvent & { readonly type: 'text-run' }

/** An answer of one text and its counts, as most are. */
interface TextAnswer {
  readonly head: AnswerHead
  readonly run: TextRun
  readonly reason: FinishReason
  readonly usage: Usage
}

const beyondAscii = /[^\0-\x7f]/
const noUsage: Usage = { promptTokens: 0, completionTokens: 0, totalTokens: 0 }
/** The last frame of each model. */
const frames = memoized((): { last?: Frame } => ({}))

/**
 * Makes the completion of all batches of an answer. A text that came as it stands in JSON is put into the printed completion
 * as it is.
 */
export function printCompletion (batches: Batches): Completion | PrintedJson {
  const run = onlyRun(batches)
  if (run === undefined) return toCompletion(batches)
  const answer = textAnswer(batches, run)
  const frame = answer && frameOf(answer)
  if (answer !== undefined && frame !== undefined && (run.isAscii || frame.isAscii)) return printed(frame.print(answer), run)
  const around = JSON.stringify(toCompletion(withPlaceholder(batches, run)))
  const at = around.indexOf(placeholder)
  if (at === -1 || around.includes(placeholder, at + 1) || beyondAscii.test(around)) return toCompletion(batches)
  return printed(around.slice(0, at) + run.literals.join('') + around.slice(at + placeholder.length), run)
}

function printed (json: string, { isAscii }: TextRun): PrintedJson {
  return new PrintedJson(isAscii ? json : Buffer.from(json, 'latin1'))
}

/** Returns the one text of an answer that stands as in JSON; `undefined` for none or several. */
function onlyRun (batches: Batches): TextRun | undefined {
  let run: TextRun | undefined
  for (const { events } of batches) {
    for (const event of events) {
      if (event.type !== 'text-run') continue
      if (run !== undefined) return undefined
      run = event
    }
  }
  return run
}

function withPlaceholder (batches: Batches, run: TextRun): Batches {
  const text: ChatEvent = { type: 'text-delta', choice: run.choice, text: placeholder }
  return batches.map(({ events }) => events.includes(run) ? { events: events.map(event => event === run ? text : event) } : { events })
}

/** Returns `undefined` for an answer that holds anything else. */
function textAnswer (batches: Batches, run: TextRun): TextAnswer | undefined {
  let head: AnswerHead | undefined
  let reason: FinishReason | undefined
  let usage: Usage | undefined
  let count = 0
  for (const { events } of batches) {
    for (const event of events) {
      count++
      if (event.type === 'response-start') head = event as AnswerHead // by normalise
      else if (event.type === 'choice-end' && event.choice === run.choice) reason = event.reason
      else if (event.type === 'usage') usage = event.usage
    }
  }
  return count === 4 && head !== undefined && reason !== undefined && usage !== undefined ? { head, run, reason, usage } : undefined
}

function frameOf (answer: TextAnswer): Frame {
  const known = frames(answer.head.model)
  return known.last?.isOf(answer) === true ? known.last : known.last = new Frame(answer)
}

/** The completion of an answer as it is printed, around what differs from one to the next of a model. */
class Frame {
  readonly isAscii: boolean
  readonly #pieces: readonly string[]
  readonly #fingerprint: string | undefined
  readonly #serviceTier: string | undefined
  readonly #reason: FinishReason
  readonly #choice: number

  constructor ({ head, run: { choice }, reason }: TextAnswer) {
    // Of the one mapping. In its texts a quote is escaped, so that none looks like a field.
    const json = JSON.stringify(toCompletion([{
      events: [
        { ...head, id: placeholder, createdSeconds: 0 },
        { type: 'text-delta', choice, text: placeholder },
        { type: 'choice-end', choice, reason },
        { type: 'usage', usage: noUsage }
      ]
    }]))
    const [beforeId = '', afterId = '', afterText = ''] = json.split(placeholder)
    this.#pieces = [beforeId, ...around(afterId, '"created":', '0'), ...around(afterText, '"usage":', JSON.stringify(completionUsage(noUsage)))]
    this.isAscii = !beyondAscii.test(json)
    this.#fingerprint = head.fingerprint
    this.#serviceTier = head.serviceTier
    this.#reason = reason
    this.#choice = choice
  }

  isOf ({ head, run, reason }: TextAnswer): boolean {
    return head.fingerprint === this.#fingerprint && head.serviceTier === this.#serviceTier && reason === this.#reason && run.choice === this.#choice
  }

  print ({ head, run, usage }: TextAnswer): string {
    const [beforeId = '', beforeCreated = '', beforeText = '', beforeUsage = '', after = ''] = this.#pieces
    // An id of ours has nothing to escape.
    return `${beforeId}${head.id}${beforeCreated}${head.createdSeconds}${beforeText}${run.literals.join('')}${beforeUsage}${JSON.stringify(completionUsage(usage))}${after}`
  }
}

/** Returns what stands before and behind the value of a field. */
function around (json: string, key: string, value: string): [string, string] {
  const at = json.indexOf(key + value) + key.length
  return [json.slice(0, at), json.slice(at + value.length)]
}
