/** Runs the text filters on an answer and replaces their findings, before its caller gets it. */

import { GatewayError } from '../core/errors.ts'
import { withTimeout } from '../async/with-timeout.ts'
import { judgeTexts } from '../guards/found-texts.ts'
import { HeldTexts, type HeldAnswer } from '../guards/held-texts.ts'
import { JudgedTexts } from '../guards/judged-texts.ts'
import { TextFilters, type FilterLayer, type JudgeLayer, type TextStages } from '../guards/text-filter.ts'
import { everywhere, text, type ReplaceText } from '../json/place-table.ts'
import { flatMap, once, type Stage } from '../pipeline/stage.ts'
import { afterVerdict } from './after-verdict.ts'
import { RefusableAnswer, type AnswerEnd, type AnswerStep } from './refusable-answer.ts'
import type { Batch } from '../core/batch.ts'
import type { RoutedCall } from '../core/call.ts'
import type { ChatEvent } from '../core/events.ts'
import type { DirectTexts } from '../dialects/dialect.ts'

/** Bytes of held text that each stream has free; more is charged to memory. */
const uncountedBytes = 64 * 1024
/** The most that may be held; arguments that are longer are a fault of the provider. */
const maxHeldBytes = 32 * 1024 * 1024

/**
 * Replaces what the stages find in the answers of another stage: batches come out with the events that are
 * decided. The first comes once there is something for the caller to see, so that an answer which is refused
 * before that has a status.
 *
 * @param direct the texts of answers that pass as they came
 * @throws GatewayError for a finding that refuses the call; else what `answer` throws, with its words
 *   replaced
 */
export function answerTexts<R> (
  { layers, overlap = false }: TextStages,
  direct: DirectTexts | undefined,
  answer: Stage<RoutedCall<R>, Batch<R, ChatEvent>>
): Stage<RoutedCall<R>, Batch<R, ChatEvent>> {
  return layers.reduce((before, layer) => flatMap(call => {
    if ('stages' in layer) {
      const batches = before(once(call))
      const { answer } = layer.stages(call)
      // of the request that it was given
      return answer === undefined ? batches : answer(batches) as AsyncIterable<Batch<R, ChatEvent>>
    }
    const look = lookAt(layer, call, direct)
    if (look === undefined) return before(once(call))
    return look.holds ? heldBatches(before, call, look) : passedBatches(before, call, look)
  }), overlap ? afterVerdict(answer) : answer)
}

/** What a layer does with one answer. */
interface AnswerLook {
  readonly held: HeldAnswer
  /** False: events go on at once. */
  readonly holds: boolean
  /** Returns an error with its words replaced, or rejects with another. */
  readonly replaceWords: (error: GatewayError) => GatewayError | Promise<GatewayError>
}

function lookAt (
  layer: FilterLayer | JudgeLayer,
  call: RoutedCall<unknown>,
  direct: DirectTexts | undefined
): AnswerLook | undefined {
  if ('judge' in layer) {
    const judge = layer.judge(call, 'answer')
    return judge && {
      held: new JudgedTexts(judge, direct),
      holds: judge.alters,
      replaceWords: async error => await judgeTexts(judge, error, replaceWords)
    }
  }
  const filters = new TextFilters(layer, call, 'answer')
  return filters.isEmpty
    ? undefined
    : {
        held: new HeldTexts(filters, direct),
        holds: true,
        replaceWords: error => replaceWords(error, filters.replace)
      }
}

/** Passes on what is decided, and what was decided before an answer failed. */
async function* heldBatches<R> (
  given: Stage<RoutedCall<R>, Batch<R, ChatEvent>>,
  call: RoutedCall<R>,
  look: AnswerLook
): AsyncGenerator<Batch<R, ChatEvent>, void, undefined> {
  const answer = new RefusableAnswer(call, given)
  const { held } = look
  const countHeld = heldMemory(look, call.takeMemory)
  let last: Batch<R, ChatEvent> | undefined
  let events: ChatEvent[] = []
  let isBegun = false
  const taken = (batch: Batch<R, ChatEvent>): Batch<R, ChatEvent> => {
    const decided = events
    events = []
    isBegun = true
    return { ...batch, events: decided }
  }
  const decidedSoFar = (): boolean => isBegun ? events.length > 0 : events.some(isSeen)
  let end: AnswerEnd | undefined
  try {
    let reading: Promise<Step<R>> | undefined
    while (end === undefined) {
      reading ??= answer.read()
      const step = await inTime(reading, held)
      if (step === undefined) {
        await held.decide(events)
        if (last !== undefined && decidedSoFar()) yield taken(last)
        continue
      }
      reading = undefined
      if (step.batch === undefined) {
        end = step
        await held.end(events)
        const hasSomething = 'error' in step ? decidedSoFar() : events.length > 0
        if (last !== undefined && hasSomething) yield taken(last)
        continue
      }
      last = step.batch
      try {
        held.push(last.events, events)
      } catch (error) {
        // What is decided goes out first, as what is read does before any other error.
        if (isBegun && events.length > 0) yield taken(last)
        throw error
      }
      countHeld()
      if (decidedSoFar()) yield taken(last)
    }
  } catch (error) {
    answer.giveUp(error)
    throw error
  } finally {
    await answer.close()
  }
  if ('error' in end) throw await replacedIn(end.error, look)
}

/** Passes batches on at once, and looks at them meanwhile. */
async function* passedBatches<R> (
  given: Stage<RoutedCall<R>, Batch<R, ChatEvent>>,
  call: RoutedCall<R>,
  look: AnswerLook
): AsyncGenerator<Batch<R, ChatEvent>, void, undefined> {
  const answer = new RefusableAnswer(call, given)
  const { held } = look
  const countHeld = heldMemory(look, call.takeMemory)
  let end: AnswerEnd | undefined
  try {
    let reading: Promise<Step<R>> | undefined
    while (end === undefined) {
      const decided: ChatEvent[] = [] // they were passed on before
      reading ??= answer.read()
      const step = await inTime(reading, held)
      if (step === undefined) {
        await held.decide(decided)
        continue
      }
      reading = undefined
      if (step.batch === undefined) {
        end = step
        await held.end(decided)
        continue
      }
      yield step.batch
      // What was already passed on is not refused for its size; what exceeds the bound is not inspected.
      if (held.characters * 2 > maxHeldBytes) continue
      held.push(step.batch.events, decided)
      countHeld()
    }
  } catch (error) {
    answer.giveUp(error)
    throw error
  } finally {
    await answer.close()
  }
  if ('error' in end) throw await replacedIn(end.error, look)
}

/**
 * Returns a function that counts the memory of what is held. It throws for an answer that is too large and
 * not passed on before.
 */
function heldMemory ({ held, holds }: AnswerLook, takeMemory: RoutedCall<unknown>['takeMemory']): () => void {
  let countedBytes = 0
  return () => {
    const heldBytes = held.characters * 2
    if (holds && heldBytes > maxHeldBytes) {
      throw new GatewayError('upstream_invalid_response', {
        message: "The provider's answer is too large."
      })
    }
    if (heldBytes > countedBytes + uncountedBytes) {
      takeMemory?.(heldBytes - countedBytes)
      countedBytes = heldBytes
    }
  }
}

type Step<R> = AnswerStep<R, ChatEvent>

/** Returns what is read next, later; `undefined` where something is to be decided before that. */
function inTime<R> (
  reading: Promise<Step<R>>,
  { dueInMs }: HeldAnswer
): Promise<Step<R> | undefined> | undefined {
  if (dueInMs === undefined) return reading
  return dueInMs === 0 ? undefined : withTimeout(dueInMs, reading)
}

async function replacedIn (error: unknown, { replaceWords }: AnswerLook): Promise<unknown> {
  return error instanceof GatewayError ? await replaceWords(error) : error
}

/** Returns whether a caller sees output in an event. */
function isSeen (event: ChatEvent): boolean {
  if ('text' in event) return event.text !== ''
  return event.type !== 'response-start' && !(event.type === 'direct-frame' && event.isHead === true)
}

/** Replaces the texts of an error: providers may quote the request or their answer in it. */
export function replaceWords (error: GatewayError, replace: ReplaceText): GatewayError {
  const message = replace(error.message, text)
  const { original } = error
  const body = original === undefined ? undefined : replacedBody(original.body, replace)
  if (message === error.message && body === original?.body) return error
  return error.with({
    message,
    ...original !== undefined && body !== undefined && { original: { ...original, body } }
  })
}

function replacedBody (body: string, replace: ReplaceText): string {
  try {
    return everywhere(undefined).replaceIn(body, replace)
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    return replace(body, text)
  }
}
