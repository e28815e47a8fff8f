/** The price of a model, in the unit it is billed by. */

import type { JSX } from 'preact'
import { nonTokenUnits, unitsBesideTokens, type BilledUnit } from '../../../../schemas/billed-units.ts'
import type { CatalogueEntry } from '../state/catalogue.ts'

type Price = NonNullable<CatalogueEntry['price']>

export function PriceText ({ price }: { readonly price: CatalogueEntry['price'] }): JSX.Element {
  if (price === null) return <span class='faint'>not known</span>
  const parts = priceParts(price)
  return parts.length === 0 ? <span class='faint'>see description</span> : <>{parts.join(' · ')}</>
}

function priceParts (price: Price): readonly string[] {
  const { input, output, images } = price
  const usd = (value: number): string =>
    `$${value.toLocaleString('en', { maximumFractionDigits: 4, minimumFractionDigits: value % 1 === 0 ? 0 : 2 })}`
  return [
    ...(input === undefined ? [] : [`${usd(input)} in`]),
    ...(output === undefined ? [] : [`${usd(output)} out`]),
    ...Object.values<BilledUnit>({ ...nonTokenUnits, ...unitsBesideTokens }).flatMap(
      ({ price: { field, suffix } }) => {
        const value = price[field as keyof Price]
        return suffix === undefined || typeof value !== 'number' ? [] : [`${usd(value)} ${suffix}`]
      }
    ),
    ...(images?.[0] === undefined
      ? []
      : [`from ${usd(Math.min(...images.map(image => image.usd)))} an image`])
  ]
}
