/** Decides at the start of a call whether its spans are exported. */

import { ROOT_CONTEXT } from '@opentelemetry/api'
import { SamplingDecision, TraceIdRatioBasedSampler } from '@opentelemetry/sdk-trace-base'
import type { OtlpSettings } from '../core/settings.ts'

export interface TraceSamplerOptions extends Pick<OtlpSettings, 'sampler' | 'sample'> {
  /**
   * Calls per second that are sampled because their caller sampled them; further ones are treated like any
   * other.
   */
  readonly maxPerSecond: number
  /** Returns milliseconds. */
  readonly now?: () => number
}

export class TraceSampler {
  readonly #ratio: TraceIdRatioBasedSampler
  readonly #followsCaller: boolean
  readonly #maxPerSecond: number
  readonly #now: () => number
  #second = -1
  #taken = 0

  constructor ({ sampler, sample, maxPerSecond, now = () => performance.now() }: TraceSamplerOptions) {
    this.#ratio = new TraceIdRatioBasedSampler(shareOf(sampler, sample))
    this.#followsCaller = sampler.startsWith('parentbased_')
    this.#maxPerSecond = maxPerSecond
    this.#now = now
  }

  /** @param caller the caller's sampling decision; absent without a trace */
  isSampled (traceId: string, caller: boolean | undefined): boolean {
    if (this.#followsCaller && caller !== undefined && (!caller || this.#take())) return caller
    const { decision } = this.#ratio.shouldSample(ROOT_CONTEXT, traceId)
    return decision === SamplingDecision.RECORD_AND_SAMPLED
  }

  #take (): boolean {
    const second = Math.floor(this.#now() / 1000)
    if (second !== this.#second) [this.#second, this.#taken] = [second, 0]
    if (this.#taken >= this.#maxPerSecond) return false
    this.#taken++
    return true
  }
}

function shareOf (sampler: OtlpSettings['sampler'], sample: number): number {
  switch (sampler) {
    case 'always_on':
    case 'parentbased_always_on':
      return 1
    case 'always_off':
    case 'parentbased_always_off':
      return 0
    case 'traceidratio':
    case 'parentbased_traceidratio':
      return sample
  }
}
