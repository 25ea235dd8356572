export { DOCS_AS_TEXT } from './all-docs';
export {
  checkAttachmentName,
  checkRange,
  type PutAttachment,
  putAttachmentArguments,
  rangeOf,
  STUB_AT_HAND,
} from './attachment-arguments';
export { chunksOf, itemsOf, leaveData, leaveUnread, piecesOf, streamOf, through } from './attachment-data';
export { blobKeysIn } from './attachment-set';
export {
  type Bytes,
  bestBytes,
  decoded,
  digestText,
  exactBytes,
  joined,
  portableBytes,
  useBytes,
} from './bytes';
export * from './changes';
export { checkChangesOptions } from './changes-check';
export { checkCount } from './count';
export type * from './database';
export { docsOf, errorInList, errorWith, failureRow } from './edits';
export * from './emitter';
export * from './feed';
export type { FeedController } from './feed-controller';
export { functionName, isLate, longName, verdict } from './filter-functions';
export * from './functions';
export { GET_AS_TEXT } from './get';
export { type IndexPlace, placeKey, runQueries, runsAt } from './index-rows';
export { INFO, INFO_QUERY, infoOf } from './info';
export { checkInterval } from './interval';
export { copyOf, type KeptDocs, keptDocs } from './kept-docs';
export { Later } from './later';
export { type BareRow, isLink, linkedId, withDocs } from './linked';
export { LocalDatabase } from './local';
export { checkLocalOptions, type LocalOptions } from './local-options';
export { bulkGetRefusal, checkAttsSince, checkRevLists, commonGeneration, inHalves } from './many-revs';
export { checkSignal, either, isSignal, onAbort, untilAborted, whenAborted, withEither } from './on-abort';
export { Patience } from './patience';
export type * from './queries';
export * from './query-checks';
export { ReadSize, readSize } from './read-size';
export { onPageReturn, onReturn, tellReturn } from './return';
export { Served } from './served';
export { show } from './show';
export { onSigns, tellSign } from './signs';
export { sleep } from './sleep';
export { SMALL_DATA, type SmallData } from './small-data';
export { STORAGE_LOST, timesLost, wasLost } from './storage-lost';
export { losersOf, TREE_TEXTS, treeOf } from './tip';
export { Turns } from './turns';
