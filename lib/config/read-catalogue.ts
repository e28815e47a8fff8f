/**
 * Reads the file that `catalogue` names. It is checked as the configuration is, at every start and reload: a
 * mistyped price is a wrong bill that goes unnoticed.
 */

import { Catalogue } from '../../schemas/catalogue.ts'
import { isObject } from '../json/guards.ts'
import { builtInModels } from '../models/catalogue.ts'
import { catalogueOf, isPriceMap } from '../models/price-map.ts'
import { checkDocument } from './check-document.ts'
import { readDocument } from './config-document.ts'
import { errorCode } from './environment.ts'
import type { NamedFiles } from './named-files.ts'
import { ConfigError, type Problem } from './problems.ts'
import { createReport, type Report } from './report.ts'

/** One wrong word can be in every entry. */
const maxProblems = 20

export interface ReadCatalogue {
  readonly catalogue?: Catalogue
  /** With the place of each in the file. */
  readonly problems: readonly Problem[]
}

/**
 * Reads and checks a catalogue, JSON or YAML, or a price map of LiteLLM.
 *
 * @param shown the name of the file in problems
 * @returns the code of the error (`ENOENT`) when the file cannot be read
 */
export function readCatalogueFile (
  path: string,
  shown: string,
  read: NamedFiles['read']
): ReadCatalogue | string {
  let text: string
  try {
    text = read(path)
  } catch (error) {
    return errorCode(error)
  }
  try {
    return { catalogue: parse(text, shown), problems: [] }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return { problems: error.problems.slice(0, maxProblems) }
  }
}

/** @throws ConfigError */
function parse (text: string, shown: string): Catalogue {
  const map = parsedJson(text)
  if (isPriceMap(map)) return catalogueOf(map, builtInModels, shown, new Date().toISOString().slice(0, 10))
  const document = readDocument(text, shown)
  const report = createReport(document, new Map())
  const { value } = document
  checkDocument(Catalogue, value, report)
  checkIds(value, report)
  checkPatterns(value, report)
  report.throwIfAny()
  return value as unknown as Catalogue // without a problem
}

/** Returns the value of a text in JSON; `undefined` for any other, which is read as YAML. */
function parsedJson (text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function checkIds ({ models }: Record<string, unknown>, report: Report): void {
  const seen = new Set<unknown>()
  for (const [index, model] of listOf(models).entries()) {
    if (!isObject(model) || model.id === undefined) continue
    if (seen.has(model.id)) report.add(['models', index, 'id'], 'another model has this id')
    seen.add(model.id)
  }
}

function checkPatterns ({ families }: Record<string, unknown>, report: Report): void {
  for (const [index, family] of listOf(families).entries()) {
    if (isObject(family) && typeof family.match === 'string' && !isPattern(family.match)) {
      report.add(['families', index, 'match'], 'is not a valid regular expression')
    }
  }
}

function listOf (value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function isPattern (source: string): boolean {
  try {
    return new RegExp(source) instanceof RegExp
  } catch {
    return false
  }
}
