/** The totals of the period, compared with the previous one. */

import type { JSX } from 'preact'
import { dollars, duration, share, shortCount } from '../format/numbers.ts'
import type { Usage } from './measures.ts'

type Totals = Usage['totals']

interface Stat {
  readonly label: string
  readonly show: (totals: Totals) => string
  /** Its number, for the comparison; absent if unknown. */
  readonly value: (totals: Totals) => number | undefined
  /** True if more is worse. */
  readonly worse?: boolean
  /**
   * True for a share, whose change is in percentage points: a rate that went from 2 % to 4 % did not rise by
   * 100 %.
   */
  readonly isShare?: boolean
}

const stats: readonly Stat[] = [
  {
    label: 'Spend',
    value: totals => totals.cost_usd,
    show: ({ cost_usd, estimated_calls }) => `${estimated_calls > 0 ? '≈ ' : ''}${dollars(cost_usd)}`
  },
  { label: 'Calls', value: totals => totals.calls, show: totals => shortCount(totals.calls) },
  {
    label: 'Error rate',
    value: errorRate,
    show: totals => share(errorRate(totals)),
    worse: true,
    isShare: true
  },
  { label: 'Tokens', value: tokens, show: totals => shortCount(tokens(totals)) },
  { label: 'From cache', value: cacheShare, show: totals => share(cacheShare(totals)), isShare: true },
  {
    label: 'Latency, p95',
    value: totals => totals.latency_ms?.p95,
    show: ({ latency_ms }) => (latency_ms === null ? '–' : duration(latency_ms.p95)),
    worse: true
  },
  {
    label: 'First token, p50',
    value: totals => totals.first_byte_ms?.p50,
    show: ({ first_byte_ms }) => (first_byte_ms === null ? '–' : duration(first_byte_ms.p50)),
    worse: true
  }
]

export function Totals ({ usage }: { readonly usage: Usage }): JSX.Element {
  return (
    <dl class='card stats'>
      {stats.map(({ label, show, value, worse = false, isShare = false }) => (
        <div class='stat' key={label}>
          <dt>{label}</dt>
          <dd>{show(usage.totals)}</dd>
          <dd class='change'>
            {usage.previous !== null && (
              <Change
                now={value(usage.totals)}
                before={value(usage.previous.totals)}
                shown={show(usage.previous.totals)}
                worse={worse}
                isShare={isShare}
              />
            )}
          </dd>
        </div>
      ))}
    </dl>
  )
}

const points = new Intl.NumberFormat('en', { maximumFractionDigits: 1 })

interface ChangeProps {
  readonly now: number | undefined
  readonly before: number | undefined
  /** The previous value, as shown. */
  readonly shown: string
  readonly worse: boolean
  readonly isShare: boolean
}

function Change ({ now, before, shown, worse, isShare }: ChangeProps): JSX.Element | null {
  if (now === undefined || before === undefined || (before === 0 && !isShare)) return null
  const change = isShare ? now - before : (now - before) / before
  if (Math.abs(change) < (isShare ? 0.0005 : 0.005)) return <>No change</>
  const size = isShare ? `${points.format(Math.abs(change) * 100)} points` : share(Math.abs(change))
  const tone = worse ? (change > 0 ? 'down' : 'up') : ''
  return (
    <span title='Against the period before'>
      <span class={tone}>
        {change > 0 ? '↑' : '↓'} {size}
      </span>{' '}
      from {shown}
    </span>
  )
}

function errorRate ({ calls, errors }: Totals): number {
  return calls === 0 ? 0 : errors / calls
}

/** Returns the share of prompt tokens read from a cache. */
export function cacheShare ({ prompt_tokens, cached_tokens }: Totals): number {
  return prompt_tokens === 0 ? 0 : cached_tokens / prompt_tokens
}

function tokens ({ prompt_tokens, completion_tokens }: Totals): number {
  return prompt_tokens + completion_tokens
}
