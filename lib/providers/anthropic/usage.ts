import { countOf, objectOf } from '../../json/type-guards.ts'
import { possibleUsage, type Usage } from '../../core/usage.ts'
import type { WireUsage } from './wire.ts'

/**
 * Accumulates the token counts of one answer.
 *
 * Stream reports are cumulative: the last value of each counter wins. A null or missing counter keeps its
 * value.
 */
export class UsageCount {
  #input: number | undefined
  #cacheRead: number | undefined
  #cacheWrite: number | undefined
  #cacheWriteHour: number | undefined
  #searches: number | undefined
  #output: number | undefined
  #thinking: number | undefined

  /**
   * Reads the report at the start of a stream; its output count is ignored, because nothing has been written
   * yet.
   */
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
   * Returns `undefined` unless input and output were both reported. Our prompt count includes cached tokens,
   * theirs excludes them.
   */
  total (): Usage | undefined {
    // With only one of the two, the cost would be far too low: usage is then estimated.
    return this.#output === undefined ? undefined : this.soFar()
  }

  /** Like `total`, for an interrupted answer whose output may be unreported. */
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
