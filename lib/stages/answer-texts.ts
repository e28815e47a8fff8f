/** Runs the text filters on an answer and replaces their findings, before its caller gets it. */

import { extend, type RoutedCall } from '../core/call.ts'
import { GatewayError } from '../core/errors.ts'
import { CallCancellation } from '../async/cancellation.ts'
import { withTimeout } from '../async/with-timeout.ts'
import { judgeTexts } from '../guards/found-texts.ts'
import { HeldTexts, type HeldAnswer } from '../guards/held-texts.ts'
import { JudgedTexts } from '../guards/judged-texts.ts'
import { TextFilters, type FilterLayer, type JudgeLayer, type TextStages } from '../guards/text-filter.ts'
import { everywhere, text, type ReplaceText } from '../json/place-table.ts'
import { flatMap, once, type Stage } from '../pipeline/stage.ts'
import { afterVerdict } from './after-verdict.ts'
import type { Batch } from '../core/batch.ts'
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
    return look === undefined ? before(once(call)) : looked(before, call, look)
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

async function* looked<R> (
  answer: Stage<RoutedCall<R>, Batch<R, ChatEvent>>,
  call: RoutedCall<R>,
  look: AnswerLook
): AsyncGenerator<Batch<R, ChatEvent>, void, undefined> {
  // A provider whose answer is refused may have nothing to say for minutes: it is given up at once.
  const signal = new CallCancellation()
  const follow = (): void => signal.abort(call.signal.reason)
  if (call.signal.aborted) follow()
  else call.signal.addEventListener('abort', follow, { once: true })
  const batches = answer(once(extend(call, { signal })))[Symbol.asyncIterator]()
  let end: End
  try {
    const countHeld = heldMemory(look, call.takeMemory)
    end = look.holds
      ? yield * heldBatches(batches, look.held, countHeld)
      : yield * passedBatches(batches, look.held, countHeld)
  } catch (error) {
    signal.abort(error)
    throw error
  } finally {
    call.signal.removeEventListener('abort', follow)
    await batches.return?.()
  }
  if ('error' in end) throw end.error instanceof GatewayError ? await look.replaceWords(end.error) : end.error
}

/** Passes on what is decided, and what was decided before an answer failed. Returns how the answer ended. */
async function* heldBatches<R> (
  batches: AsyncIterator<Batch<R, ChatEvent>>,
  held: HeldAnswer,
  countHeld: () => void
): AsyncGenerator<Batch<R, ChatEvent>, End, undefined> {
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
  let reading: Promise<Step<R>> | undefined
  for (;;) {
    reading ??= read(batches)
    const step = await stepOf(reading, held)
    if (step === undefined) {
      await held.decide?.(events)
      if (last !== undefined && decidedSoFar()) yield taken(last)
      continue
    }
    reading = undefined
    if (step.batch === undefined) {
      await held.end(events)
      const hasSomething = 'error' in step ? decidedSoFar() : events.length > 0
      if (last !== undefined && hasSomething) yield taken(last)
      return step
    }
    last = step.batch
    try {
      for (const event of last.events) held.push(event, events)
    } catch (error) {
      // What is decided goes out first, as what is read does before any other error.
      if (isBegun && events.length > 0) yield taken(last)
      throw error
    }
    countHeld()
    if (decidedSoFar()) yield taken(last)
  }
}

/** Passes batches on at once, and looks at them meanwhile. Returns how the answer ended. */
async function* passedBatches<R> (
  batches: AsyncIterator<Batch<R, ChatEvent>>,
  held: HeldAnswer,
  countHeld: () => void
): AsyncGenerator<Batch<R, ChatEvent>, End, undefined> {
  let reading: Promise<Step<R>> | undefined
  for (;;) {
    const decided: ChatEvent[] = [] // they were passed on before
    reading ??= read(batches)
    const step = await stepOf(reading, held)
    if (step === undefined) {
      await held.decide?.(decided)
      continue
    }
    reading = undefined
    if (step.batch === undefined) {
      await held.end(decided)
      return step
    }
    yield step.batch
    // What was already passed on is not refused for its size; what exceeds the bound is not inspected.
    if (held.characters * 2 > maxHeldBytes) continue
    for (const event of step.batch.events) held.push(event, decided)
    countHeld()
  }
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

/** The end of an answer, or why it failed. */
type End =
  | { readonly batch: undefined }
  | { readonly batch: undefined, readonly error: unknown }

type Step<R> = { readonly batch: Batch<R, ChatEvent> } | End

/** Reads the next batch. It never rejects, since its result may be awaited only later. */
async function read<R> (batches: AsyncIterator<Batch<R, ChatEvent>>): Promise<Step<R>> {
  try {
    const { done, value } = await batches.next()
    return done === true ? { batch: undefined } : { batch: value }
  } catch (error) {
    return { batch: undefined, error }
  }
}

/** Resolves to what is read next; to `undefined` where something is to be decided before that. */
async function stepOf<R> (reading: Promise<Step<R>>, held: HeldAnswer): Promise<Step<R> | undefined> {
  const { dueInMs } = held
  if (dueInMs === undefined) return await reading
  return dueInMs === 0 ? undefined : await withTimeout(dueInMs, reading)
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
