import { replaceNames } from '../validation/attribution.ts'
import { needsSlices } from '../core/request-size.ts'
import { judgeTexts } from '../guards/gathered-texts.ts'
import { replaceInSlices } from '../guards/replace-in-slices.ts'
import { TextFilters, altersAnswer, type TextLayer, type TextGuards } from '../guards/text-guards.ts'
import { standsForMedia } from '../json/media-strings.ts'
import { once } from '../pipeline/sources.ts'
import { map, pass, type Stage } from '../pipeline/stage.ts'
import { updateCall, type RoutedCall } from '../core/call.ts'
import type { ReplaceText } from '../json/place-table.ts'

/** Returns the call with its texts replaced, or the same call where nothing is. It may be called again. */
export type ReplaceTexts<R> = (call: RoutedCall<R>, replace: ReplaceText) => RoutedCall<R>

export interface RequestTexts<R> {
  readonly replaceTexts: ReplaceTexts<R>
  /** True if the request may lack fields of the body, such as those naming an end user. Default: false. */
  readonly lacksFields?: boolean
  /** Returns the call without log probabilities and audio in its answer. Default: the call unchanged. */
  readonly asTextAnswer?: ((call: RoutedCall<R>) => RoutedCall<R>) | undefined
  /** Returns true for a call whose answer waits for its `requestAccepted`. Default: false for every call. */
  readonly awaitsVerdict?: ((call: RoutedCall<R>) => boolean) | undefined
}

/**
 * Replaces what the guards find in a request: one call in, one out, the same one where they find nothing.
 * Where guards may change the answer, it is requested as text only. Guards that run while the provider
 * answers set the call's `requestAccepted`.
 *
 * @param guards absent: requests pass unchanged
 * @throws GatewayError for a finding that refuses the call; `unsupported_parameter` as `asTextAnswer` does
 */
export function inspectRequest<R> (
  guards: TextGuards | undefined,
  {
    replaceTexts: replaceRequest,
    lacksFields = false,
    asTextAnswer = call => call,
    awaitsVerdict = () => false
  }: RequestTexts<R>
): Stage<RoutedCall<R>> {
  if (guards === undefined) return pass
  return map(given => {
    let hidesBody = false
    const replaceTexts: ReplaceTexts<R> = (call, replace) => {
      const replaced = replaceRequest(call, inWhole(call, replace))
      if (replaceNames(replaced, replace, lacksFields ? replaced.request : undefined)) hidesBody = true
      return replaced
    }
    const names = guards.namesFor?.(given)
    if (names !== undefined && names.length > 0) given.record.guards.names = names
    let call: RoutedCall<R> | Promise<RoutedCall<R>> =
      altersAnswer(guards, given) ? asTextAnswer(given) : given
    // Inspections `during` the call go on while the provider answers; `after-verdict` holds the answer back.
    const inspections: Array<Promise<unknown>> | undefined = awaitsVerdict(given) ? [] : undefined
    for (const layer of guards.layers) {
      const replaced = (call: RoutedCall<R>): RoutedCall<R> | Promise<RoutedCall<R>> =>
        replaceBy(layer, call, replaceTexts, inspections)
      call = call instanceof Promise ? call.then(replaced) : replaced(call)
    }
    const seen = (call: RoutedCall<R>): RoutedCall<R> => {
      if (hidesBody) call.record.bodies?.takeRequest([])
      return acceptRequest(call, inspections)
    }
    return call instanceof Promise ? call.then(seen) : seen(call)
  })
}

/** Lets an inspected call continue; its answer is held until the inspections that still run accept it. */
function acceptRequest<R> (
  call: RoutedCall<R>,
  inspections: ReadonlyArray<Promise<unknown>> = []
): RoutedCall<R> {
  if (inspections.length === 0) {
    call.record.guards.awaitsInspection = false
    return call
  }
  const accept = (): void => { call.record.guards.awaitsInspection = false }
  const requestAccepted = Promise.all(inspections).then(accept, (error: unknown) => refuse(call, error))
  requestAccepted.catch(() => undefined) // awaited later, unless the call ends before that
  return updateCall(call, { requestAccepted })
}

function replaceBy<R> (
  layer: TextLayer,
  call: RoutedCall<R>,
  replaceTexts: ReplaceTexts<R>,
  inspections: Array<Promise<unknown>> | undefined
): RoutedCall<R> | Promise<RoutedCall<R>> {
  const failed = (error: unknown): never => refuse(call, error)
  if (layer.kind === 'judge') {
    const judge = layer.forCall(call, 'request')
    if (judge === undefined) return call
    const inspection = judgeTexts(judge, call, replaceTexts)
    if (judge.duringAnswer !== true || inspections === undefined) return inspection.catch(failed)
    inspection.catch(() => undefined) // awaited with the others
    inspections.push(inspection)
    return call
  }
  if (layer.kind === 'stages') return passThrough(call, layer.stages(call).request)
  const filters = new TextFilters(layer, call, 'request')
  if (filters.isEmpty) return call
  try {
    return needsSlices(call.record.request)
      ? replaceInSlices(call, filters, replaceTexts, () => call.signal.throwIfAborted()).catch(failed)
      : replaceTexts(call, filters.replace)
  } catch (error) {
    return failed(error)
  }
}

/** @throws Error if the guard passes no call on */
async function passThrough<R> (
  call: RoutedCall<R>,
  stage: Stage<RoutedCall<unknown>> | undefined
): Promise<RoutedCall<R>> {
  if (stage === undefined) return call
  for await (const out of stage(once(call))) return out as RoutedCall<R> // the call it was given
  throw new Error('the `requestStage` of a guard module returned no call')
}

/** Discards the captured request of a refused call, and throws the error. */
function refuse ({ record }: RoutedCall<unknown>, error: unknown): never {
  record.bodies?.takeRequest([])
  throw error
}

/**
 * Returns a function that replaces a text in full. A long text without spaces may be stored as media, with
 * only its beginning as a string.
 */
function inWhole ({ media }: RoutedCall<unknown>, replace: ReplaceText): ReplaceText {
  return (text, place) => {
    const bytes = standsForMedia(text) ? media?.()?.bytesOf(text) : undefined
    if (bytes === undefined) return replace(text, place)
    const whole = bytes.toString('latin1')
    const other = replace(whole, place)
    return other === whole ? text : other
  }
}
