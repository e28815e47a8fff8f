/** The price of a model: in the catalogue, and under `models:` in the configuration. */

import { Type, type Static } from 'typebox'

function Usd (description: string) {
  return Type.Number({ minimum: 0, maximum: 1_000_000, description })
}

/** Prices of tokens, in USD per million. */
const tokenPrices = {
  input: Type.Optional(Usd('Input tokens.')),
  output: Type.Optional(Usd('Output tokens.')),
  cached_input: Type.Optional(Usd('Input found in the cache. Default: `input`.')),
  cache_write: Type.Optional(Usd('Input written to the cache. Default: `input`.')),
  cache_write_hour: Type.Optional(Usd('Input written to the cache for an hour. Default: `cache_write`.')),
  audio_input: Type.Optional(Usd('Input audio tokens. Default: `input`.')),
  audio_output: Type.Optional(Usd('Output audio tokens. Default: `output`.')),
  image_input: Type.Optional(Usd('Input tokens of images. Default: `input`.'))
}

const ImagePrice = Type.Object({
  quality: Type.Optional(Type.String({ minLength: 1, description: 'Only images of this quality.' })),
  size: Type.Optional(Type.String({ minLength: 1, description: 'Only images of this size: `1024x1024`.' })),
  usd: Usd('USD per image.')
}, { additionalProperties: false, description: 'The price of some images, or of all.' })

/** Every kind of price a model can have. */
export const priceFields = {
  ...tokenPrices,
  long_prompt: Type.Optional(Type.Object({
    above_prompt_tokens: Type.Integer({ minimum: 1, description: 'The prices apply to prompts of more tokens than this.' }),
    ...tokenPrices
  }, { additionalProperties: false, description: 'Prices of all tokens of an answer whose prompt is longer than that.' })),
  images: Type.Optional(Type.Array(ImagePrice, {
    minItems: 1,
    maxItems: 100,
    description: 'Prices of images the model makes, where it reports no tokens. If size or quality is unknown, the first matching ' +
      'price is billed and the highest reserved.'
  })),
  per_minute: Type.Optional(Usd('USD per minute of a recording.')),
  per_million_characters: Type.Optional(Usd('USD per million characters of speech.')),
  per_thousand_pages: Type.Optional(Usd('USD per thousand pages of a document.')),
  per_thousand_searches: Type.Optional(Usd('USD per thousand searches of the web, in addition to the tokens.'))
}

export const Price = Type.Object(priceFields, { additionalProperties: false })
export type Price = Static<typeof Price>
