/**
 * Inspects texts with Presidio: its analyzer finds personal data, its anonymizer replaces it.
 *
 * @see https://microsoft.github.io/presidio/api-docs/api-docs.html
 */

import { isObject, objectOf } from '../json/type-guards.ts'
import { guardActionOf } from '../../schemas/config/guards.ts'
import { judgeClient, type JudgeClient, type InspectedCall } from './judge-client.ts'
import type { Judge } from '../guards/text-judge.ts'
import type { JudgeInput } from './judge-input.ts'

export function openPresidio ({ settings }: Pick<JudgeInput, 'settings'>): Judge {
  const { analyzerUrl = '', anonymizerUrl = '', language = 'en', entities, scoreThreshold } = settings
  const analyzer = judgeClient(analyzerUrl, settings)
  const anonymizer = judgeClient(anonymizerUrl, settings)
  const question = {
    language,
    ...entities !== undefined && { entities },
    ...scoreThreshold !== undefined && { score_threshold: scoreThreshold }
  }
  const masks = guardActionOf(settings) === 'mask'
  const inspectOne = async (text: string, call: InspectedCall): Promise<Inspection> => {
    const found = await analyze(analyzer, { ...question, text }, call)
    return {
      found,
      text: masks && found.length > 0 ? await anonymize(anonymizer, text, found, call) : text
    }
  }
  return {
    inspect: async (texts, { call: { key: { id: keyId } }, signal }) => {
      const inspections: Inspection[] = []
      for (let at = 0; at < texts.length; at += textsAtOnce) {
        const some = texts.slice(at, at + textsAtOnce)
        const ended = some.map(async ({ text }) => await inspectOne(text, { keyId, signal }))
        inspections.push(...await Promise.all(ended))
      }
      const found = inspections.flatMap(({ found }) => found)
      if (found.length === 0) return {}
      const names = [...new Set(found.map(({ entity_type: name }) => name))]
      return masks
        ? { texts: inspections.map(({ text }) => text), findings: found.length }
        : { refusal: `it contains ${names.join(', ')}`, findings: found.length }
    },
    close: async () => {
      await Promise.all([analyzer.close(), anonymizer.close()])
    }
  }
}

/** Concurrent requests of one call: each text is a request, and other calls need some too. */
const textsAtOnce = 8

interface Inspection {
  readonly text: string
  readonly found: readonly Entity[]
}

/** An entity as the analyzer returns it and the anonymizer expects it; offsets count code points. */
interface Entity {
  readonly entity_type: string
  readonly start: number
  readonly end: number
  readonly score: number
}

/** @throws TypeError for an invalid answer */
async function analyze (
  client: JudgeClient,
  question: object,
  call: InspectedCall
): Promise<readonly Entity[]> {
  const answer = await client.post('/analyze', question, call)
  if (!Array.isArray(answer)) throw new TypeError('the answer of the analyzer is not a list')
  return answer.map((found: unknown) => {
    if (!isEntity(found)) throw new TypeError('a result of the analyzer has no entity type and position')
    const { entity_type, start, end, score } = found
    return { entity_type, start, end, score }
  })
}

function isEntity (value: unknown): value is Entity {
  return (
    isObject(value) &&
    typeof value['entity_type'] === 'string' &&
    ['start', 'end', 'score'].every(name => typeof value[name] === 'number')
  )
}

/** @throws TypeError for an invalid answer */
async function anonymize (
  client: JudgeClient,
  text: string,
  found: readonly Entity[],
  call: InspectedCall
): Promise<string> {
  const answer = objectOf(await client.post('/anonymize', { text, analyzer_results: found }, call))
  if (typeof answer?.['text'] !== 'string') throw new TypeError('the answer of the anonymizer has no text')
  return answer['text']
}
