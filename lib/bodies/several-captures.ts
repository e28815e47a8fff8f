/** The captures of one call: its project may keep bodies, and its spans may include them. */

import { presentedKeys } from '../core/key.ts'
import { CallCapture } from './call-capture.ts'
import type { BodyCapture, CaptureBodies } from '../core/body-capture.ts'
import type { Call } from '../core/call.ts'
import type { CallRecord } from '../core/record.ts'
import type { Reply } from '../core/reply.ts'
import type { UploadForm } from '../core/upload.ts'

/** Captures the bodies of a call for two readers, each under its own rule. */
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

/** Returns a function that begins both captures, or the only one. */
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
 * Takes the capture of one kind out of the record of an ended call. It is empty if no guard has inspected the
 * request: an error message may quote the request.
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
  if (record.guards.awaitsInspection && (own.request?.sizeBytes ?? 0) > 0) own.forget()
  return own
}

/** Returns the keys in the headers of a call, which a body may repeat. */
export function secretsIn (headers: Call['headers']): string[] {
  const providerKey = [headers['x-provider-key'] ?? ''].flat()
  return [...presentedKeys(headers), ...providerKey].filter(key => key !== '')
}
