/**
 * Reads the `catalogue` file. It is validated like the configuration at every start and reload, because a
 * mistyped price would cause wrong bills unnoticed.
 */

import { Catalogue } from '../../schemas/catalogue.ts'
import { parseIsoDate } from '../core/parse-iso-date.ts'
import { isObject, listOf, property } from '../json/type-guards.ts'
import { builtInModels } from '../models/catalogue.ts'
import { catalogueOf, isPriceMap } from '../models/price-map.ts'
import { checkDocument } from './check-document.ts'
import { readDocument } from './config-document.ts'
import { errorCode } from './environment.ts'
import type { Path } from './path.ts'
import type { NamedFiles } from './named-files.ts'
import { ConfigError, type Problem } from './problems.ts'
import { createReport, type Report } from './report.ts'

/** One mistake can be repeated in every entry. */
const maxProblems = 20

export interface ReadCatalogue {
  readonly catalogue?: Catalogue
  /** With their locations in the file. */
  readonly problems: readonly Problem[]
}

/**
 * Reads and validates a catalogue in JSON or YAML, or a LiteLLM price map.
 *
 * @param shown the file's name in problem reports
 * @returns the error code (`ENOENT`) if the file cannot be read
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
  checkDays(value, report)
  report.throwIfAny()
  return value as unknown as Catalogue // has no problems
}

/** Parses a text as JSON; `undefined` if it is not JSON, and must be read as YAML. */
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

/** Checks that the days exist. */
function checkDays ({ models, families }: Record<string, unknown>, report: Report): void {
  const check = (path: Path, entry: unknown, name: 'created_at' | 'as_of'): void => {
    const day = property(entry, name)
    if (typeof day === 'string' && Number.isNaN(parseIsoDate(day))) {
      report.add([...path, name], 'is not a day that exists')
    }
  }
  for (const [index, model] of listOf(models).entries()) {
    check(['models', index], model, 'created_at')
    check(['models', index, 'price'], property(model, 'price'), 'as_of')
  }
  for (const [index, family] of listOf(families).entries()) check(['families', index], family, 'as_of')
}

function isPattern (source: string): boolean {
  try {
    return new RegExp(source) instanceof RegExp
  } catch {
    return false
  }
}
