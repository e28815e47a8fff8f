import { countOf, objectOf } from '../../json/guards.ts'
import { possibleUsage, type Usage } from '../../core/usage.ts'
import type { WireUsage } from './wire.ts'

/**
 * The token counts of one answer, gathered from its reports.
 *
 * Each report of a stream holds totals so far, so the last value of each counter counts and none
 * are added up; a counter that is null or missing keeps its value.
 */
export class UsageCount {
  #input: number | undefined
  #cacheRead: number | undefined
  #cacheWrite: number | undefined
  #cacheWriteHour: number | undefined
  #searches: number | undefined
  #output: number | undefined
  #thinking: number | undefined

  /** Reads the report that a stream begins with: nothing has been written, whatever it says. */
  readFirst (report: unknown): void {
    this.read({ ...objectOf(report), output_tokens: undefined })
  }

  read (report: unknown): void {
    const usage: WireUsage | undefined = objectOf(report)
    if (usage === undefined) return
    this.#input = countOf(usage.input_tokens) ?? this.#input
    this.#cacheRead = countOf(usage.cache_read_input_tokens) ?? this.#cacheRead
    this.#cacheWrite = countOf(usage.cache_creation_input_tokens) ?? this.#cacheWrite
    this.#cacheWriteHour =
      countOf(objectOf(usage.cache_creation)?.['ephemeral_1h_input_tokens']) ?? this.#cacheWriteHour
    this.#searches = countOf(objectOf(usage.server_tool_use)?.['web_search_requests']) ?? this.#searches
    this.#output = countOf(usage.output_tokens) ?? this.#output
    this.#thinking = countOf(objectOf(usage.output_tokens_details)?.['thinking_tokens']) ?? this.#thinking
  }

  /**
   * Returns `undefined` unless both input and output were reported. Ours counts cached tokens as part of the
   * prompt; theirs counts them beside it.
   */
  total (): Usage | undefined {
    // Half a report would make the cost next to nothing: what is used is estimated then.
    return this.#output === undefined ? undefined : this.soFar()
  }

  /** Returns the same for an answer that was cut, of which the output may not have been reported. */
  soFar (): Usage | undefined {
    if (this.#input === undefined && this.#cacheRead === undefined) return undefined
    const promptTokens = (this.#input ?? 0) + (this.#cacheRead ?? 0) + (this.#cacheWrite ?? 0)
    const completionTokens = this.#output ?? 0
    return possibleUsage({
      promptTokens,
      completionTokens,
      totalTokens: promptTokens + completionTokens,
      ...this.#cacheRead !== undefined && { cachedTokens: this.#cacheRead },
      ...this.#cacheWrite !== undefined && { cacheWriteTokens: this.#cacheWrite },
      ...this.#cacheWriteHour !== undefined && { cacheWriteHourTokens: this.#cacheWriteHour },
      ...this.#searches !== undefined && { searches: this.#searches },
      ...this.#thinking !== undefined && { reasoningTokens: this.#thinking }
    })
  }
}
