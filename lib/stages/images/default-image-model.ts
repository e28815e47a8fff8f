import { familyOf, hasParameters, type ImageParameters, type ImageTask } from '../../images/rules.ts'
import { defaultModels } from '../../models/default-models.ts'
import type { Services } from '../../services.ts'

/**
 * Returns a function that chooses the model for requests without one: the first default that supports the
 * parameters of the request, or else the first default.
 */
export function defaultImageModel (
  { settings }: Pick<Services, 'settings'>,
  task: ImageTask
): (request: ImageParameters) => string {
  const models = defaultModels(settings, 'images').map(({ id, traits }) => ({
    id,
    family: familyOf(traits?.images)
  }))
  const [{ id: first }] = defaultModels(settings, 'images')
  return request => models.find(({ family }) => hasParameters(family, request, task))?.id ?? first
}
