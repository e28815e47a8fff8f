import { GatewayError, answerTooLarge } from '../core/errors.ts'
import { withTimeout } from '../async/with-timeout.ts'
import { yieldFairly } from '../async/yield-fairly.ts'
import { judgeTexts } from '../guards/gathered-texts.ts'
import { StreamFilter } from '../guards/stream-filter.ts'
import { StreamJudge } from '../guards/stream-judge.ts'
import { TextFilters, type FilterLayer, type JudgeLayer, type TextGuards } from '../guards/text-guards.ts'
import { once } from '../pipeline/sources.ts'
import { flatMap, type Stage } from '../pipeline/stage.ts'
import { isVisibleOutput, type ChatEvent } from '../core/events.ts'
import { RefusableAnswer, afterVerdict, type AnswerEnd, type AnswerStep } from './after-verdict.ts'
import { replaceInError } from '../guards/replace-in-error.ts'
import type { Batch, RoutedCall } from '../core/call.ts'
import type { DirectTexts } from '../dialects/dialect.ts'
import type { AnswerInspector } from '../guards/answer-inspector.ts'

/** Bytes of held text that each stream may use freely; more is charged to the shared memory. */
const uncountedBytes = 64 * 1024
/** Events sent in one slice: complete arguments may have arrived in tens of thousands of events. */
const sliceEvents = 1024
/** Maximum size of held text. Longer arguments are a fault of the provider. */
const maxHeldBytes = 32 * 1024 * 1024

/**
 * Replaces what the guards find in the answers of another stage. Batches come out with the events that the
 * guards have decided on. The first batch comes only when there is something for the caller to see, so that
 * an answer refused before that gets an error status.
 *
 * @param guards absent: answers pass unchanged
 * @param direct the texts of answers that are passed on as received
 * @throws GatewayError for a finding that refuses the call; otherwise what `answer` throws, with its texts
 *   replaced
 */
export function inspectAnswer<R> (
  guards: TextGuards | undefined,
  direct: DirectTexts | undefined,
  answer: Stage<RoutedCall<R>, Batch<R, ChatEvent>>
): Stage<RoutedCall<R>, Batch<R, ChatEvent>> {
  if (guards === undefined) return answer
  return guards.layers.reduce((before, layer) => flatMap(call => {
    if (layer.kind === 'stages') {
      const batches = before(once(call))
      const { answer: stage } = layer.stages(call)
      // a module's stage returns batches of the call it was given
      return stage === undefined ? batches : stage(batches) as AsyncIterable<Batch<R, ChatEvent>>
    }
    const inspection = inspectionBy(layer, call, direct)
    return inspection === undefined ? before(once(call)) : inspectedBatches(before, call, inspection)
  }), afterVerdict(answer))
}

/** How a layer inspects one answer. */
interface Inspection {
  readonly inspector: AnswerInspector
  /** False if events go on before they are inspected. */
  readonly delays: boolean
  /** Returns an error with its texts replaced, or rejects with another. */
  readonly errorReplaced: (error: GatewayError) => GatewayError | Promise<GatewayError>
}

function inspectionBy (
  layer: FilterLayer | JudgeLayer,
  call: RoutedCall<unknown>,
  direct: DirectTexts | undefined
): Inspection | undefined {
  if (layer.kind === 'judge') {
    const judge = layer.forCall(call, 'answer')
    return judge && {
      inspector: new StreamJudge(judge, direct),
      delays: judge.alters,
      errorReplaced: async error => await judgeTexts(judge, error, replaceInError)
    }
  }
  const filters = new TextFilters(layer, call, 'answer')
  return filters.isEmpty
    ? undefined
    : {
        inspector: new StreamFilter(filters, direct),
        delays: true,
        errorReplaced: error => replaceInError(error, filters.replace)
      }
}

/**
 * Yields the parts of an answer that may go out while it is inspected, and what was decided before it failed.
 */
async function* inspectedBatches<R> (
  given: Stage<RoutedCall<R>, Batch<R, ChatEvent>>,
  call: RoutedCall<R>,
  inspection: Inspection
): AsyncGenerator<Batch<R, ChatEvent>, void, undefined> {
  const answer = new RefusableAnswer(call, given)
  const { inspector, delays } = inspection
  const countHeld = heldMemory(inspection, call.takeMemory)
  const output = new DecidedOutput<R>()
  let end: AnswerEnd | undefined
  try {
    let reading: Promise<Step<R>> | undefined
    while (end === undefined) {
      reading ??= answer.read()
      const step = await inTime(reading, inspector)
      if (step === undefined) {
        await inspector.decide(output.decided)
      } else if (step.batch === undefined) {
        end = step
        await inspector.end(output.decided)
      } else {
        reading = undefined
        if (delays) output.last = step.batch
        else yield step.batch
        // Events that were already passed on are not refused for their size; text above the limit is not
        // inspected.
        if (!delays && heldBytesOf(inspector) > maxHeldBytes) continue
        try {
          inspector.push(step.batch.events, output.decided)
        } catch (error) {
          const rest = output.onRefusal()
          if (rest !== undefined) yield* inSlices(rest)
          throw error
        }
        countHeld()
      }
      const batch = output.onDecided(end)
      if (batch === undefined) continue
      if (batch.events.length <= sliceEvents) yield batch
      else yield* inSlices(batch)
    }
  } catch (error) {
    answer.giveUp(error)
    throw error
  } finally {
    await answer.close()
  }
  if ('error' in end) {
    throw end.error instanceof GatewayError ? await inspection.errorReplaced(end.error) : end.error
  }
}

/** Yields a long batch in slices, each in another tick. */
async function* inSlices<R> (
  batch: Batch<R, ChatEvent>
): AsyncGenerator<Batch<R, ChatEvent>, void, undefined> {
  const { events } = batch
  for (let from = 0; from < events.length; from += sliceEvents) {
    if (from > 0) await yieldFairly()
    yield { ...batch, events: events.slice(from, from + sliceEvents) }
  }
}

/** Holds an answer back, and passes on decided events, from the first one that a caller sees. */
class DecidedOutput<R> {
  /** The inspector appends to it. */
  decided: ChatEvent[] = []
  /** The last read batch. Absent if batches go on before they are inspected: decided events are dropped. */
  last: Batch<R, ChatEvent> | undefined
  #isBegun = false

  /**
   * Returns what goes out after events may have been decided.
   *
   * @param end of the answer, if it has ended
   */
  onDecided (end: AnswerEnd | undefined): Batch<R, ChatEvent> | undefined {
    const isComplete = end !== undefined && !('error' in end)
    return this.#isBegun || isComplete || this.decided.some(isVisibleOutput) ? this.#take() : undefined
  }

  /** Returns what goes out before the error of a refused answer: decided events, as with any other error. */
  onRefusal (): Batch<R, ChatEvent> | undefined {
    return this.#isBegun ? this.#take() : undefined
  }

  #take (): Batch<R, ChatEvent> | undefined {
    const { decided } = this
    this.decided = []
    if (this.last === undefined || decided.length === 0) return undefined
    this.#isBegun = true
    return { ...this.last, events: decided }
  }
}

/**
 * Returns a function that counts the memory of held text. It throws for an answer that is too large, unless
 * the answer was already passed on.
 */
function heldMemory (
  { inspector, delays }: Inspection,
  takeMemory: RoutedCall<unknown>['takeMemory']
): () => void {
  let countedBytes = 0
  return () => {
    const heldBytes = heldBytesOf(inspector)
    if (delays && heldBytes > maxHeldBytes) throw answerTooLarge()
    if (heldBytes > countedBytes + uncountedBytes) {
      takeMemory?.(heldBytes - countedBytes)
      countedBytes = heldBytes
    }
  }
}

function heldBytesOf ({ characters }: AnswerInspector): number {
  return characters * 2
}

type Step<R> = AnswerStep<R, ChatEvent>

/** Returns the next batch, later; `undefined` if something must be decided before that. */
function inTime<R> (
  reading: Promise<Step<R>>,
  { dueInMs }: AnswerInspector
): Promise<Step<R> | undefined> | undefined {
  if (dueInMs === undefined) return reading
  return dueInMs === 0 ? undefined : withTimeout(dueInMs, reading)
}
