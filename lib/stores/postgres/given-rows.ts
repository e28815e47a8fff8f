/** Usage rows in one value, so that a batch is one round trip. */

import { textColumns, usageColumns } from '../usage-columns.ts'

const columns = usageColumns.join(', ')
const typed = usageColumns
  .map(column => `${column} ${textColumns.has(column) ? 'text' : 'bigint'}`)
  .join(', ')

/** The query of the rows of a statement whose first value is their JSON. */
export const givenRows = `select ${columns} from json_to_recordset($1) as given (${typed})`
