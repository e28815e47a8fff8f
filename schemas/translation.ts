/** The form of POST /v1/audio/translations, and its answers, which are always in English. */

import { Type, type Static } from 'typebox'
import { audioForm, TranscriptSegment } from './transcription.ts'

export const TranslationRequest = Type.Object(audioForm)
export type TranslationRequest = Static<typeof TranslationRequest>

export const Translation = Type.Object({ text: Type.String() })
export type Translation = Static<typeof Translation>

export const VerboseTranslation = Type.Object({
  language: Type.String(),
  duration: Type.Number({ description: 'Seconds.' }),
  text: Type.String(),
  segments: Type.Optional(Type.Array(TranscriptSegment))
})
export type VerboseTranslation = Static<typeof VerboseTranslation>

/** Verbose first: every verbose answer also matches the plain schema. */
export const TranslationAnswer = Type.Union([VerboseTranslation, Translation])
