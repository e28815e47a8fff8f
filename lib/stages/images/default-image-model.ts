import { familyOf, hasParameters, type ImageParameters, type ImageTask } from '../../images/rules.ts'
import { defaultModels } from '../../models/default-models.ts'
import type { Services } from '../../services.ts'

/**
 * Makes the choice of a model for requests that name none: the first default that has the parameters of the
 * request, else the first.
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
