/**
 * Captures prompts and answers of calls and converts them to span attributes when the calls end: after guards
 * have masked them, redacted and truncated like stored bodies.
 */

import { anyProject, hasBodies } from '../bodies/body-rules.ts'
import { BoundedMemory, CallCapture, type NotedBody } from '../bodies/call-capture.ts'
import { cutText, printBody } from '../bodies/print-body.ts'
import { Redaction } from '../bodies/redaction.ts'
import { captureBoth, secretsIn, takeCapture } from '../bodies/several-captures.ts'
import { projectNamesOf } from '../core/key.ts'
import { parseText } from '../json/parse-text.ts'
import { answerMessages, cutMessages, requestMessages, type Message, type Part } from './span-messages.ts'
import type { CaptureBodies } from '../core/body-capture.ts'
import type { Call } from '../core/call.ts'
import type { Secret } from '../core/secret.ts'
import type { OtlpSettings } from '../core/settings.ts'

/**
 * Returns a function that captures the bodies of calls, for their spans and for a project that stores them.
 *
 * @param secrets of the gateway, to be redacted
 */
export type CaptureContent = (
  secrets: readonly Secret[],
  kept: CaptureBodies | undefined
) => CaptureBodies | undefined

export type ContentSettings = NonNullable<OtlpSettings['content']>

/** The texts of a call, in the format of the conventions. */
export interface Content {
  readonly system: readonly Part[]
  readonly input: readonly Message[]
  readonly output: readonly Message[]
  /** True if something is left out. */
  readonly isTruncated: boolean
}

/** Memory per process for texts not yet in a span. Calls beyond it have spans without texts. */
const maxMemoryBytes = 32 * 1024 * 1024
/** Bytes of a body that are read per byte of the result: JSON around its texts is left out. */
const readShare = 16

class SpanCapture extends CallCapture {}

export class SpanContent {
  readonly #settings: ContentSettings
  readonly #memory = new BoundedMemory(() => maxMemoryBytes)
  readonly #redaction: Redaction

  constructor (settings: ContentSettings) {
    this.#settings = settings
    this.#redaction = new Redaction(settings.redact)
  }

  readonly capturing: CaptureContent = (secrets, kept) => {
    const projects = new Set(this.#settings.projects)
    const rule = { maxBytes: this.#settings.maxBytes, redaction: this.#redaction, secrets }
    return captureBoth(kept, (key, endpoint, trace) => {
      const isWanted = projects.has(anyProject) || projectNamesOf(key).some(name => projects.has(name))
      return isWanted && hasBodies(endpoint) && trace?.isSampled !== false
        ? new SpanCapture(rule, this.#memory)
        : undefined
    })
  }

  /**
   * Takes the texts of an ended call; `undefined` if none were captured. The result must be read or released.
   */
  take ({ headers, record }: Pick<Call, 'headers' | 'record'>): TakenContent | undefined {
    const capture = takeCapture(record, SpanCapture)
    return capture && new TakenContent(capture, secretsIn(headers))
  }
}

export class TakenContent {
  readonly #capture: CallCapture
  readonly #presented: readonly string[]

  constructor (capture: CallCapture, presented: readonly string[]) {
    this.#capture = capture
    this.#presented = presented
  }

  release (): void {
    this.#capture.release()
  }

  /** Redacts and truncates the captured texts in slices, and releases them. */
  async read (): Promise<Content> {
    const { request, answer, isDropped } = this.#capture
    try {
      const { maxBytes } = this.#capture.rule
      const asked = request === undefined ? undefined : await this.#parsed(request)
      const { system, input } = requestMessages(asked?.body)
      const answered = answer === undefined ? undefined : await this.#parsed(answer)
      const instructions = cutMessages([{ role: 'system', parts: system }], maxBytes)
      const sent = cutMessages(input, maxBytes)
      const received = cutMessages(answerMessages(answered?.body), maxBytes)
      return {
        system: instructions.messages[0]?.parts ?? [],
        input: sent.messages,
        output: received.messages,
        isTruncated: isDropped || asked?.isCut === true || answered?.isCut === true ||
          instructions.isCut || sent.isCut || received.isCut
      }
    } finally {
      this.release()
    }
  }

  /** Returns the redacted JSON of a body. A truncated body is not valid JSON and is returned as text. */
  async #parsed (noted: NotedBody): Promise<{ readonly body: unknown, readonly isCut: boolean }> {
    const { redaction, maxBytes, secrets } = this.#capture.rule
    const { text, truncated } = await printBody(noted, {
      redaction,
      maxBytes: maxBytes * readShare,
      secrets: [...secrets.map(secret => secret.reveal()), ...this.#presented]
    })
    if (text === null) return { body: undefined, isCut: false }
    try {
      return { body: await parseText(text), isCut: truncated }
    } catch {
      return { body: cutText(text, maxBytes), isCut: truncated }
    }
  }
}
