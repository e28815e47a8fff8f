/** Usage rows as one value, so that a batch takes one round trip. */

import { textColumns, usageColumns } from '../usage-columns.ts'

const columns = usageColumns.join(', ')
const typed = usageColumns
  .map(column => `${column} ${textColumns.has(column) ? 'text' : 'bigint'}`)
  .join(', ')

/** The query for the rows of a statement whose first value is their JSON. */
export const givenRows = `select ${columns} from json_to_recordset($1) as given (${typed})`
