/** The price of a model, in the unit it is sold in. */

import type { JSX } from 'preact'
import type { CatalogueEntry } from '../state/catalogue.ts'

type Price = NonNullable<CatalogueEntry['price']>

export function PriceText ({ price }: { readonly price: CatalogueEntry['price'] }): JSX.Element {
  if (price === null) return <span class='faint'>not known</span>
  const parts = priceParts(price)
  return parts.length === 0 ? <span class='faint'>see description</span> : <>{parts.join(' · ')}</>
}

function priceParts (price: Price): readonly string[] {
  const { input, output, per_minute, per_million_characters, per_thousand_pages, images } = price
  const usd = (value: number): string => `$${value.toLocaleString('en', { maximumFractionDigits: 4, minimumFractionDigits: value % 1 === 0 ? 0 : 2 })}`
  return [
    ...input === undefined ? [] : [`${usd(input)} in`],
    ...output === undefined ? [] : [`${usd(output)} out`],
    ...per_minute === undefined ? [] : [`${usd(per_minute)} a minute`],
    ...per_million_characters === undefined ? [] : [`${usd(per_million_characters)} per 1M characters`],
    ...per_thousand_pages === undefined ? [] : [`${usd(per_thousand_pages)} per 1,000 pages`],
    ...images?.[0] === undefined ? [] : [`from ${usd(Math.min(...images.map(image => image.usd)))} an image`]
  ]
}
