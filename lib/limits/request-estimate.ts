import { answerTokens, type Estimate, type EstimateRequest } from './estimate.ts'
import type { RoutedCall } from '../core/call.ts'
import type { RecordedEstimate } from '../core/record.ts'
import type { Route } from '../core/route.ts'
import type { EstimatedUnits } from '../core/usage.ts'

const noTokens: Estimate = { prompt: 0, completion: 0 }

/**
 * The estimate of one request, computed on first use and kept: it reads every text of the request, which
 * takes milliseconds for a large one.
 */
export class RequestEstimate<R> implements RecordedEstimate {
  readonly #estimate: EstimateRequest<R> | undefined
  /** Undefined once the estimate is computed. */
  #request: R | undefined
  readonly #routes: readonly Route[]
  #value: Estimate | undefined
  #mediaTokens = 0

  constructor (
    { request, routes }: Pick<RoutedCall<R>, 'request' | 'routes'>,
    estimate: EstimateRequest<R> | undefined
  ) {
    this.#request = request
    this.#routes = routes
    this.#estimate = estimate
  }

  get value (): Estimate {
    if (this.#value === undefined) {
      // the request is defined until the estimate is
      this.#value = this.#estimate?.(this.#request as R, this.#routes) ?? noTokens
      this.#request = undefined
    }
    return this.#value
  }

  /**
   * Sets the media tokens to count if the provider reports no usage: strict budgets count the most that a
   * call can cost.
   */
  countMediaAs (tokens: number): void {
    this.#mediaTokens = tokens
  }

  countPrompt (): number | undefined {
    const { prompt, units } = this.value
    return units === undefined ? prompt + this.#mediaTokens : undefined
  }

  countAnswer (): number {
    const { completion, choices = 1 } = this.value
    return Math.min(completion, choices * answerTokens)
  }

  estimateUnits (): EstimatedUnits | undefined {
    const { units, prompt, completion } = this.value
    return units && { ...units, promptTokens: prompt, completionTokens: completion }
  }
}
