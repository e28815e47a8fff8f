/** Finds what a model accepts: from its family, from the catalogue, and from the operator's additions. */

import type { ProviderKind } from '../../schemas/providers.ts'
import type { Traits } from '../core/model.ts'
import type { ModelFamily } from './catalogue.ts'

/** @param model the name at the provider */
export function familyTraits (
  families: readonly ModelFamily[],
  kind: ProviderKind | undefined,
  model: string
): Traits | undefined {
  return families.find(
    ({ kinds, match }) =>
      (kinds === undefined || (kind !== undefined && kinds.includes(kind))) && match.test(model)
  )?.traits
}

/**
 * Returns the traits of both; the second overrides the first. Sections of one endpoint are merged as well.
 */
export function mergeTraits (base: Traits | undefined, changes: Traits | undefined): Traits | undefined {
  if (base === undefined || changes === undefined) return changes ?? base
  return {
    ...base,
    ...changes,
    ...(base.embeddings ?? changes.embeddings) !== undefined && {
      embeddings: { ...base.embeddings, ...changes.embeddings }
    },
    ...(base.images ?? changes.images) !== undefined && { images: { ...base.images, ...changes.images } },
    ...(base.speech ?? changes.speech) !== undefined && { speech: { ...base.speech, ...changes.speech } },
    ...(base.transcription ?? changes.transcription) !== undefined && {
      transcription: { ...base.transcription, ...changes.transcription }
    }
  }
}

/** Returns the traits with the lower of two limits of an answer: theirs, and that of the capabilities. */
export function limitOutput (traits: Traits | undefined, limit: unknown): Traits | undefined {
  return typeof limit === 'number' && limit < (traits?.maxOutputTokens ?? Infinity)
    ? { ...traits, maxOutputTokens: limit }
    : traits
}
