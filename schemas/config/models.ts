/** `models` of `headgate.yaml`. */

import { Type, type Static } from 'typebox'
import { OneOf } from '../nullable.ts'
import { priceFields } from '../price.ts'
import { ModelTraits } from '../traits.ts'
import { Closed, Text, word } from './entries.ts'

export const ModelConfig = Closed(
  {
    alias: Type.Optional(
      Text(
        'Another model or route this name stands for. A `*` is what the one in the name matched. Must be the only field of its entry.'
      )
    ),
    hidden: Type.Boolean({ default: false, description: 'Usable, but not listed.' }),
    status: Type.Optional(
      OneOf(['enabled', 'disabled', 'preview', 'deprecated'], {
        description: 'A disabled model is not found; the others are usable.'
      })
    ),
    display_name: Type.Optional(Text('A human-readable name.')),
    description: Type.Optional(Text('One or two sentences.')),
    capabilities: Type.Optional(
      Type.Record(Type.String(), Type.Unsafe<boolean | number>({ type: ['boolean', 'number'] }), {
        description: 'Capabilities, and limits in tokens.',
        propertyNames: word
      })
    ),
    traits: Type.Optional(ModelTraits),
    price: Type.Optional(
      Closed(priceFields, {
        description: 'Its price, in place of that of the catalogue; tokens in USD per million.'
      })
    ),
    attributes: Type.Optional(
      Type.Record(Type.String(), Type.Number({ minimum: 0, maximum: 1 }), {
        description:
          'Attributes from 0 to 1: `intelligence`, `speed`, `accuracy`, `creativity`, or any other. ' +
          '`cost`, where 1 is most expensive, follows from its price unless it is set here.',
        propertyNames: word
      })
    )
  },
  { description: 'A model of your own, or a change to one of the catalogue.' }
)
export type ModelConfig = Static<typeof ModelConfig>
