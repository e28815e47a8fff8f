/**
 * Reads Gemini responses into events: stream messages, or a complete response as the only message. Sharing
 * this code keeps both consistent.
 *
 * The finish of a candidate is held back until the end of the response, because calls and the reason `STOP`
 * may arrive in either order and in different messages.
 */

import { offersFunctionsOnly } from '../../chat/legacy-functions.ts'
import { callIdsIn, uniqueCallId } from '../../chat/call-ids.ts'
import { objectArguments, partsOf } from '../json-api.ts'
import { invalidResponse } from '../provider-failure.ts'
import { finishReasonOf, isFailureReason } from './finish-reason.ts'
import { signatureExtra } from './tool-calls.ts'
import { logprobsOf } from './logprobs.ts'
import { readUsageMetadata } from './usage.ts'
import { numberOf, objectOf, nonEmptyText } from '../../json/type-guards.ts'
import type { ChatInput } from '../../chat/input.ts'
import type { ChatEvent, AnswerStartEvent } from '../../core/events.ts'
import type { Usage } from '../../core/usage.ts'
import type { AnswerPart, Candidate, GenerateContentResponse, UsageMetadata } from './wire.ts'

/** What has been read of a candidate. */
interface Choice {
  /** Dense, in order of arrival: the provider may skip indexes. */
  readonly index: number
  calls: number
  /** True after the first text, call or refusal. */
  hasOutput: boolean
  finish: string | undefined
}

/** No model makes so many calls; a provider that exceeds the limit is broken. */
const maxCalls = 1024

const tiers = new Map<unknown, string>([['standard', 'default'], ['flex', 'flex'], ['priority', 'priority']])

export class ResponseReader {
  readonly #legacy: boolean
  readonly #maxChoices: number
  /** By the provider's index. */
  readonly #choices = new Map<number, Choice>()
  readonly #ids: Set<string>
  #hasStarted = false
  #blockReason: string | undefined
  #usage: UsageMetadata | undefined

  constructor (request: Pick<ChatInput, 'n' | 'tools' | 'functions'> & Partial<Pick<ChatInput, 'messages'>>) {
    this.#ids = callIdsIn(request)
    this.#legacy = offersFunctionsOnly(request)
    this.#maxChoices = request.n ?? 1
  }

  /** True if the prompt was blocked or a candidate arrived. */
  get hasCandidate (): boolean {
    return this.#blockReason !== undefined || this.#choices.size > 0
  }

  /**
   * True if the prompt was blocked or every candidate that began has ended. As in complete answers, there may
   * be fewer candidates than requested.
   */
  get isComplete (): boolean {
    return this.hasCandidate && this.#allFinished
  }

  /** True if a candidate has neither content nor a finish reason. */
  get hasHollowCandidate (): boolean {
    return [...this.#choices.values()].some(({ hasOutput, finish }) => !hasOutput && finish === undefined)
  }

  get #allFinished (): boolean {
    for (const { finish } of this.#choices.values()) {
      if (finish === undefined) return false
    }
    return true
  }

  read (wire: GenerateContentResponse, events: ChatEvent[]): void {
    if (!this.#hasStarted) {
      this.#hasStarted = true
      events.push(startOf(wire))
    }
    this.readCounts(wire)
    const candidates: readonly Candidate[] = partsOf(wire.candidates, 'the list of candidates')
    for (const { number, candidate } of numbered(candidates)) {
      const choice = this.#choice(number, candidates.length === 1)
      if (choice !== undefined) this.#readCandidate(choice, candidate, events)
    }
    this.#blockReason ??= nonEmptyText(wire.promptFeedback?.blockReason)
  }

  /** Reads cumulative counts: each message replaces the previous ones. */
  readCounts ({ usageMetadata }: GenerateContentResponse): void {
    if (objectOf(usageMetadata) !== undefined) this.#usage = { ...this.#usage, ...usageMetadata }
  }

  /**
   * Ends every choice, then adds the usage: the last events of the answer.
   *
   * @throws GatewayError `upstream_invalid_response` for a candidate that failed without output
   */
  end (events: ChatEvent[]): void {
    if (this.#refused) {
      // Show only enum names: other text may contain anything, even secrets.
      const reason = /^[A-Z_]{1,64}$/.test(this.#blockReason ?? '') ? this.#blockReason : 'OTHER'
      events.push(
        { type: 'refusal-delta', choice: 0, text: `The provider blocked the prompt: ${reason}.` },
        { type: 'choice-end', choice: 0, reason: 'content_filter' }
      )
    }
    for (const { index, calls, hasOutput, finish } of this.#choices.values()) {
      if (!hasOutput && isFailureReason(finish)) throw invalidResponse(`the finishReason is ${finish}`)
      const kind = calls === 0 ? 'none' : this.#legacy ? 'legacy' : 'tools'
      events.push({ type: 'choice-end', choice: index, reason: finishReasonOf(finish, kind) })
    }
    const usage =
      this.#usage &&
      readUsageMetadata(
        this.#usage,
        [...this.#choices.values()].some(({ hasOutput }) => hasOutput)
      )
    if (usage !== undefined) events.push({ type: 'usage', usage })
  }

  /** Usage so far, for an answer that may be incomplete. */
  get usageSoFar (): Usage | undefined {
    return this.#usage && readUsageMetadata(this.#usage)
  }

  /** True if the prompt was blocked: no candidates will follow. */
  get #refused (): boolean {
    return this.#blockReason !== undefined && this.#choices.size === 0
  }

  #readCandidate (choice: Choice, candidate: Candidate, events: ChatEvent[]): void {
    const { index } = choice
    let logprobs = logprobsOf(candidate.logprobsResult)
    const [content] = partsOf(candidate.content, 'the content')
    const parts: readonly AnswerPart[] = partsOf(content?.['parts'], 'the parts of the content')
    for (const part of parts) {
      const text = nonEmptyText(part.text)
      if (text === undefined) {
        this.#readCall(choice, part, events)
      } else if (part.thought === true) {
        events.push({ type: 'reasoning-delta', choice: index, text })
      } else {
        choice.hasOutput = true
        events.push({ type: 'text-delta', choice: index, text, ...logprobs && { logprobs } })
        logprobs = undefined
      }
    }
    if (logprobs !== undefined) events.push({ type: 'text-delta', choice: index, text: '', logprobs })
    if (nonEmptyText(candidate.finishReason) !== undefined) this.#finish(choice, candidate, events)
  }

  /** Returns the open choice that continues under another index, if only one was requested. */
  #onlyChoice (): Choice | undefined {
    const [only] = this.#choices.values()
    return this.#maxChoices === 1 && only?.finish === undefined ? only : undefined
  }

  /** Returns `undefined` for candidates beyond the requested number. */
  #choice (number: number, isOnly: boolean): Choice | undefined {
    const existing = this.#choices.get(number) ?? (isOnly ? this.#onlyChoice() : undefined)
    if (existing !== undefined || this.#choices.size >= this.#maxChoices) return existing
    const choice = { index: this.#choices.size, calls: 0, hasOutput: false, finish: undefined }
    this.#choices.set(number, choice)
    return choice
  }

  /** Calls arrive complete, often without an id. Other parts are ignored. */
  #readCall (
    choice: Choice,
    { functionCall: value, thoughtSignature }: AnswerPart,
    events: ChatEvent[]
  ): void {
    const [functionCall] = partsOf(value, 'a function call')
    if (functionCall === undefined) return
    const name = nonEmptyText(functionCall['name'])
    if (name === undefined) throw invalidResponse('a function call without a name')
    if (choice.calls >= maxCalls) throw invalidResponse(`more than ${maxCalls} tool calls`)
    const call = choice.calls++
    choice.hasOutput = true
    if (this.#legacy && call > 0) return // the deprecated form has room for one call
    const kind = this.#legacy ? 'legacy' : 'function'
    events.push({
      type: 'tool-call-start',
      choice: choice.index,
      callIndex: call,
      id: this.#legacy ? '' : uniqueCallId(nonEmptyText(functionCall['id']), this.#ids),
      name,
      kind,
      ...thoughtSignature && !this.#legacy && { extra: signatureExtra(thoughtSignature) }
    })
    const text = objectArguments(functionCall['args'])
    events.push({ type: 'tool-call-delta', choice: choice.index, callIndex: call, text, kind })
    events.push({ type: 'tool-call-end', choice: choice.index, callIndex: call })
  }

  /** Ends a choice; an explained refusal is passed on as a refusal. */
  #finish (choice: Choice, { finishReason, finishMessage }: Candidate, events: ChatEvent[]): void {
    const first = choice.finish === undefined
    const isCut = finishReasonOf(finishReason, 'none') !== 'stop'
    if (first || isCut) choice.finish = finishReason
    const text = nonEmptyText(finishMessage)
    if (first && text !== undefined && finishReasonOf(finishReason, 'none') === 'content_filter') {
      events.push({ type: 'refusal-delta', choice: choice.index, text })
    }
  }
}

/** Orders candidates by index; one without an index gets the first free one of the message. */
function numbered (candidates: readonly Candidate[]): Array<{ number: number, candidate: Candidate }> {
  const given = new Set<unknown>(candidates.map(({ index }) => numberOf(index)))
  let free = 0
  return candidates.map(candidate => {
    const number = numberOf(candidate.index)
    if (number !== undefined) return { number, candidate }
    while (given.has(free)) free++
    return { number: free++, candidate }
  }).toSorted((a, b) => a.number - b.number)
}

function startOf ({ usageMetadata }: GenerateContentResponse): AnswerStartEvent {
  const serviceTier = tiers.get(nonEmptyText(usageMetadata?.serviceTier)?.toLowerCase())
  return { type: 'answer-start', ...serviceTier !== undefined && { serviceTier } }
}
