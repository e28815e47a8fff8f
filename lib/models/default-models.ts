import { catalogueOf } from './catalogue.ts'
import type { DefaultModels } from '../../schemas/catalogue.ts'
import type { Traits } from '../core/model.ts'
import type { Settings } from '../core/settings.ts'

/** A model for requests that name none, as the catalogue knows it. */
export interface DefaultModel {
  readonly id: string
  readonly traits?: Traits | undefined
}

/**
 * Returns the models for requests of an endpoint that name none, best first. Whether a provider serves them
 * is not looked at: a request that names no model should not mean another one wherever keys differ.
 *
 * @throws Error when the catalogue has none
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
