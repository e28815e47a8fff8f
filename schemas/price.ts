/** The price of a model: in the catalogue, and under `models:` in the configuration. */

import { Type, type Static, type TNumber, type TOptional } from 'typebox'
import {
  tokenKinds,
  nonTokenUnits,
  unitsBesideTokens,
  type BilledUnit,
  type TokenKind,
  type TokenKindName
} from './billed-units.ts'

function Usd (description: string) {
  return Type.Number({ minimum: 0, maximum: 1_000_000, description })
}

type TokenPriceField = {
  [Name in TokenKindName]: (typeof tokenKinds)[Name] extends {
    readonly price: { readonly field: infer Field extends string }
  }
    ? Field
    : never
}[TokenKindName]
type BilledUnits = typeof nonTokenUnits & typeof unitsBesideTokens
type UnitPriceField = Exclude<BilledUnits[keyof BilledUnits]['price']['field'], 'images'>

/** Prices of tokens, in USD per million. */
const tokenPrices = optional<TokenPriceField>(
  Object.values<TokenKind>(tokenKinds).flatMap(({ price, partOf }) => {
    if (price === undefined) return []
    const whole = Object.entries<TokenKind>(tokenKinds).find(([name]) => name === partOf)?.[1].price
    return [
      [
        price.field,
        Usd(whole === undefined ? price.description : `${price.description} Default: \`${whole.field}\`.`)
      ]
    ]
  })
)

/** Prices of other units that are one number, in USD. */
const unitPrices = optional<UnitPriceField>(
  Object.values<BilledUnit>({ ...nonTokenUnits, ...unitsBesideTokens }).flatMap(
    ({ price: { field, per, description } }) => (per === undefined ? [] : [[field, Usd(description)]])
  )
)

function optional<Field extends string> (
  fields: ReadonlyArray<readonly [string, TNumber]>
): Readonly<Record<Field, TOptional<TNumber>>> {
  // those of the table
  return Object.fromEntries(fields.map(([name, type]) => [name, Type.Optional(type)])) as Record<
    Field,
    TOptional<TNumber>
  >
}

const ImagePrice = Type.Object({
  quality: Type.Optional(Type.String({ minLength: 1, description: 'Only images of this quality.' })),
  size: Type.Optional(Type.String({ minLength: 1, description: 'Only images of this size: `1024x1024`.' })),
  usd: Usd('USD per image.')
}, { additionalProperties: false, description: 'The price of some images, or of all.' })

/** Every kind of price a model can have. */
export const priceFields = {
  ...tokenPrices,
  long_prompt: Type.Optional(
    Type.Object(
      {
        above_prompt_tokens: Type.Integer({
          minimum: 1,
          description: 'The prices apply to prompts of more tokens than this.'
        }),
        ...tokenPrices
      },
      {
        additionalProperties: false,
        description: 'Prices of all tokens of an answer whose prompt exceeds `above_prompt_tokens`.'
      }
    )
  ),
  images: Type.Optional(
    Type.Array(ImagePrice, {
      minItems: 1,
      maxItems: 100,
      description: nonTokenUnits.images.price.description
    })
  ),
  ...unitPrices
}

export const Price = Type.Object(priceFields, { additionalProperties: false })
export type Price = Static<typeof Price>
