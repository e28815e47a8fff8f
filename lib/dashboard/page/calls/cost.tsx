/** The cost of a call, marked if it is estimated or unknown. */

import type { JSX } from 'preact'
import { exactDollars } from '../format/numbers.ts'

export function Cost ({
  usd,
  estimated
}: {
  readonly usd: number | null
  readonly estimated: boolean
}): JSX.Element {
  if (usd === null) {
    return (
      <abbr class='faint' title='No price is known for this model.'>
        unpriced
      </abbr>
    )
  }
  return estimated ? (
    <abbr title='An estimate: the provider reported no usage.'>≈ {exactDollars(usd)}</abbr>
  ) : (
    <>{exactDollars(usd)}</>
  )
}
