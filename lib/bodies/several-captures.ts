/** The captures of one call: a project may keep its bodies, and its spans may have them. */

import { presentedKeys } from '../core/key.ts'
import { CallCapture } from './call-capture.ts'
import type { BodyCapture, CaptureBodies } from '../core/body-capture.ts'
import type { Call } from '../core/call.ts'
import type { CallRecord } from '../core/record.ts'
import type { Reply } from '../core/reply.ts'
import type { UploadForm } from '../core/upload.ts'

/** Notes the bodies of a call for two readers, each under a rule of its own. */
class BothCaptures implements BodyCapture {
  readonly both: readonly [BodyCapture, BodyCapture]

  constructor (one: BodyCapture, other: BodyCapture) {
    this.both = [one, other]
  }

  takeRequest (pieces: readonly Uint8Array[]): void {
    for (const capture of this.both) capture.takeRequest(pieces)
  }

  takeForm (form: UploadForm): void {
    for (const capture of this.both) capture.takeForm(form)
  }

  watch (reply: Reply): Reply {
    return this.both.reduce((watched, capture) => capture.watch(watched), reply)
  }
}

/** Returns what begins both captures, or the one there is. */
export function captureBoth (
  one: CaptureBodies | undefined,
  other: CaptureBodies | undefined
): CaptureBodies | undefined {
  if (one === undefined || other === undefined) return one ?? other
  return (...call) => {
    const [first, second] = [one(...call), other(...call)]
    return first === undefined || second === undefined ? first ?? second : new BothCaptures(first, second)
  }
}

/**
 * Takes the capture of one kind out of the record of a call that has ended. It is empty where no stage has
 * looked at the request: what is wrong with a request may be said in words of it.
 */
export function takeCapture<C extends CallCapture> (
  record: CallRecord,
  kind: abstract new (...given: never[]) => C
): C | undefined {
  const { bodies } = record
  const captures = bodies instanceof BothCaptures ? bodies.both : [bodies]
  const own = captures.find((capture): capture is C => capture instanceof kind)
  if (own === undefined) return undefined
  record.bodies = captures.find(capture => capture !== own)
  if (record.awaitsInspection && (own.request?.sizeBytes ?? 0) > 0) own.forget()
  return own
}

/** Returns the keys that came in the headers of a call: a body may repeat them. */
export function secretsIn (headers: Call['headers']): string[] {
  const providerKey = [headers['x-provider-key'] ?? ''].flat()
  return [...presentedKeys(headers), ...providerKey].filter(key => key !== '')
}
