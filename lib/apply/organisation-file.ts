/** Reads the file of `headgate apply`, and checks what its schema cannot express. */

import { normalEmail } from '../accounts/users.ts'
import { checkDocument } from '../config/check-document.ts'
import { readDocument } from '../config/config-document.ts'
import { parseIsoDate } from '../core/parse-iso-date.ts'
import { checkEndpoints } from '../config/check-cross-references.ts'
import { createReport, type Report } from '../config/report.ts'
import { budgetProblems } from '../keys/check-budgets.ts'
import { OrganisationFile } from '../../schemas/admin/organisation-file.ts'
import type { Path } from '../config/path.ts'

/**
 * @param shown the name of the file in messages
 * @throws ConfigError with every problem and its place
 */
export function readOrganisationFile (text: string, shown: string): OrganisationFile {
  const document = readDocument(text, shown)
  const report = createReport(document, new Map())
  const { value } = document
  if (!checkDocument(OrganisationFile, value, report)) {
    report.throwIfAny()
    throw new Error('a file without problems was refused')
  }
  checkNames(value, report)
  checkLimits(value, report)
  checkUnset(value, report)
  for (const [index, { endpoints, expires_at: expires }] of (value.keys ?? []).entries()) {
    checkEndpoints(['keys', index], endpoints ?? [], report)
    if (expires !== undefined && Number.isNaN(parseIsoDate(expires))) {
      report.add(['keys', index, 'expires_at'], 'must be a day (2030-12-31) or a time (2030-12-31T18:00:00Z)')
    }
  }
  report.throwIfAny()
  return value
}

function checkNames ({ projects = [], users = [], keys = [] }: OrganisationFile, report: Report): void {
  const unique = (section: string, field: string, names: readonly string[]): void => {
    const seen = new Set<string>()
    for (const [index, name] of names.entries()) {
      if (seen.has(name)) report.add([section, index, field], `another entry of ${section} has this ${field}`)
      seen.add(name)
    }
  }
  unique('projects', 'name', projects.map(({ name }) => name))
  unique('users', 'email', users.map(({ email }) => normalEmail(email)))
  unique('keys', 'name', keys.map(({ name }) => name))
}

function checkLimits ({ projects = [], users = [], keys = [] }: OrganisationFile, report: Report): void {
  for (const [section, entries] of [['projects', projects], ['users', users], ['keys', keys]] as const) {
    for (const [index, { limits }] of entries.entries()) {
      for (const { path, message } of budgetProblems(limits ?? {})) {
        report.add([section, index, 'limits', ...path] satisfies Path, message)
      }
    }
  }
}

function checkUnset ({ projects = [], users = [], keys = [] }: OrganisationFile, report: Report): void {
  for (const [section, entries] of [['projects', projects], ['users', users], ['keys', keys]] as const) {
    for (const [index, { unset = [], ...entry }] of entries.entries()) {
      for (const field of unset.filter(field => field in entry)) {
        report.add([section, index, field], 'cannot be both set and listed in `unset`')
      }
    }
  }
}
