import type { ProviderConfig } from '../../schemas/config/providers.ts'
import type { CamelCased } from './camel-cased.ts'

/**
 * How a server deviates from the dialect it speaks. Data, set by the kind of server in `providers/kinds` and
 * by the operator in the configuration, whose schema describes each quirk.
 */
export type Quirks = CamelCased<ProviderConfig['quirks']>
