import { catalogueOf } from './catalogue.ts'
import type { DefaultModels } from '../../schemas/catalogue.ts'
import type { Traits } from '../core/model.ts'
import type { Settings } from '../core/settings.ts'

/** A catalogue model for requests that name none. */
export interface DefaultModel {
  readonly id: string
  readonly traits?: Traits | undefined
}

/**
 * Returns the models for requests of an endpoint that name none, best first. It ignores whether a provider
 * serves them: such requests should mean the same model with every key.
 *
 * @throws Error if the catalogue has none
 */
export function defaultModels (
  settings: Pick<Settings, 'catalogue'>,
  endpoint: keyof DefaultModels
): readonly [DefaultModel, ...DefaultModel[]] {
  const { defaults, models } = catalogueOf(settings)
  const [first, ...others] = (defaults[endpoint] ?? []).map(id => ({
    id,
    traits: models.find(model => model.id === id)?.traits
  }))
  if (first === undefined) throw new Error(`The model catalogue has no default for ${endpoint}.`)
  return [first, ...others]
}
