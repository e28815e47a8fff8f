/** Runs the text filters on a request and replaces their findings, before it is sent. */

import { replaceNames } from '../chat/attribution.ts'
import { isSlowRequest } from '../core/record.ts'
import { yieldFairly } from '../async/yield-fairly.ts'
import { judgeTexts } from '../guards/found-texts.ts'
import {
  ReportedEnds, TextFilters, altersAnswer, type TextFilter, type TextLayer, type TextStages
} from '../guards/text-filter.ts'
import { standsForMedia } from '../json/media-strings.ts'
import { map, once, type Stage } from '../pipeline/stage.ts'
import { refine, type RoutedCall } from '../core/call.ts'
import type { ReplaceText, TextPlace } from '../json/place-table.ts'

/** Returns the call with other texts; the same call where nothing is replaced. It may be called again. */
export type ReplaceTexts<R> = (call: RoutedCall<R>, replace: ReplaceText) => RoutedCall<R>

export interface RequestTexts<R> {
  readonly replaceTexts: ReplaceTexts<R>
  /** Returns the call without what its answer would have beside its text. Default: the same call. */
  readonly asTextAnswer?: ((call: RoutedCall<R>) => RoutedCall<R>) | undefined
  /** Returns true for a call whose answer waits for its `verdict` (`answerTexts`). Default: none does. */
  readonly awaitsVerdict?: ((call: RoutedCall<R>) => boolean) | undefined
}

/**
 * Replaces what the stages find in a request: one call in, one out, the same where they find nothing. Where
 * they may change the answer, it is asked for as text alone. Stages that may look while the request is sent
 * give the call its `verdict`.
 *
 * @throws GatewayError for a finding that refuses the call; `unsupported_parameter` as `asTextAnswer` says
 */
export function requestTexts<R> (
  stages: TextStages,
  {
    replaceTexts: replaceRequest,
    asTextAnswer = call => call,
    awaitsVerdict = () => false
  }: RequestTexts<R>
): Stage<RoutedCall<R>> {
  const replaceTexts: ReplaceTexts<R> = (call, replace) => {
    const replaced = replaceRequest(call, inWhole(call, replace))
    replaceNames(replaced, replace)
    return replaced
  }
  return map(given => {
    const names = stages.namesFor?.(given)
    if (names !== undefined && names.length > 0) given.record.stages = names
    let call: RoutedCall<R> | Promise<RoutedCall<R>> =
      altersAnswer(stages, given) ? asTextAnswer(given) : given
    const looks: Array<Promise<unknown>> | undefined =
      stages.overlap === true && awaitsVerdict(given) ? [] : undefined
    for (const layer of stages.layers) {
      const replaced = (call: RoutedCall<R>): RoutedCall<R> | Promise<RoutedCall<R>> =>
        replaceBy(layer, call, replaceTexts, looks)
      call = call instanceof Promise ? call.then(replaced) : replaced(call)
    }
    const seen = (call: RoutedCall<R>): RoutedCall<R> => seenBy(call, looks)
    return call instanceof Promise ? call.then(seen) : seen(call)
  })
}

/** @param looks of stages that look while the request is sent */
function seenBy<R> (call: RoutedCall<R>, looks: ReadonlyArray<Promise<unknown>> = []): RoutedCall<R> {
  if (looks.length === 0) {
    call.record.awaitsInspection = false
    return call
  }
  const pass = (): void => { call.record.awaitsInspection = false }
  const verdict = Promise.all(looks).then(pass, (error: unknown) => refuse(call, error))
  verdict.catch(() => undefined) // it is awaited later, unless the call ends before that
  return refine(call, { verdict })
}

function replaceBy<R> (
  layer: TextLayer,
  call: RoutedCall<R>,
  replaceTexts: ReplaceTexts<R>,
  looks: Array<Promise<unknown>> | undefined
): RoutedCall<R> | Promise<RoutedCall<R>> {
  const failed = (error: unknown): never => refuse(call, error)
  if ('judge' in layer) {
    const judge = layer.judge(call, 'request')
    if (judge === undefined) return call
    const look = judgeTexts(judge, call, replaceTexts)
    if (judge.overlaps !== true || looks === undefined) return look.catch(failed)
    look.catch(() => undefined) // it is awaited with the others
    looks.push(look)
    return call
  }
  if ('stages' in layer) return passed(call, layer.stages(call).request)
  const filters = new TextFilters(layer, call, 'request')
  if (filters.isEmpty) return call
  try {
    return isSlowRequest(call.record)
      ? replaceInTurns(call, filters, replaceTexts).catch(failed)
      : replaceTexts(call, filters.replace)
  } catch (error) {
    return failed(error)
  }
}

/** @throws Error where the stage lets no call through */
async function passed<R> (
  call: RoutedCall<R>,
  stage: Stage<RoutedCall<unknown>> | undefined
): Promise<RoutedCall<R>> {
  if (stage === undefined) return call
  for await (const out of stage(once(call))) return out as RoutedCall<R> // of the request that it was given
  throw new Error('a stage of a module let no call through')
}

/** A project that keeps bodies keeps none that was refused. */
function refuse ({ record }: RoutedCall<unknown>, error: unknown): never {
  record.bodies?.takeRequest([])
  throw error
}

/** A long text without spaces may be taken for media, of which only the beginning is a string. */
function inWhole ({ media }: RoutedCall<unknown>, replace: ReplaceText): ReplaceText {
  return (text, place) => {
    const bytes = standsForMedia(text) ? media?.()?.bytesOf(text) : undefined
    if (bytes === undefined) return replace(text, place)
    const whole = bytes.toString('latin1')
    const other = replace(whole, place)
    return other === whole ? text : other
  }
}

/** Characters that are looked through in a turn of the event loop. */
const turnLength = 64 * 1024

interface Found {
  readonly text: string
  readonly place: TextPlace
}

async function replaceInTurns<R> (
  call: RoutedCall<R>,
  filters: TextFilters,
  replaceTexts: ReplaceTexts<R>
): Promise<RoutedCall<R>> {
  const found: Found[] = []
  replaceTexts(call, (text, place) => {
    found.push({ text, place })
    return text
  })
  const replaced: string[] = []
  let looked = 0
  for (const { text, place } of found) {
    const filter = filters.at(place)
    if (filter === undefined) {
      replaced.push(text)
      continue
    }
    looked += text.length
    if (looked > turnLength) {
      looked = 0
      await yieldFairly()
      call.signal.throwIfAborted()
    }
    replaced.push(
      text.length <= turnLength ? filters.replace(text, place) : await replaceLong(filter, text, place)
    )
  }
  let next = 0
  return replaceTexts(call, text => replaced[next++] ?? text)
}

async function replaceLong (filter: TextFilter, text: string, { kind }: TextPlace): Promise<string> {
  let result = ''
  let from = 0
  const reported = new ReportedEnds()
  for (let until = turnLength; from < text.length; until = Math.max(from, until) + turnLength) {
    let copied = from
    // A match may look at the character before it, and is shorter than `reach`.
    const start = Math.max(0, from - 1)
    const part = text.slice(start, until + filter.reach)
    reported.partStart = start
    for (const edit of filter.find(part, from - start, until - start, reported)) {
      if (kind === 'fixed') throw filter.refusal(edit)
      result += text.slice(copied, start + edit.start) + edit.replacement
      copied = start + edit.end
    }
    from = Math.max(copied, Math.min(until, text.length))
    result += text.slice(copied, from)
    await yieldFairly()
  }
  return result
}
