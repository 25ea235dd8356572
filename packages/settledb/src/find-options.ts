/**
 * Selectors and sorts that know the documents: a misspelt field or a comparison with another type is a compile error. If
 * the content is not described, any selector is accepted.
 */
import type {
  ExistingDoc,
  FindRequest,
  FindResult,
  IndexFields,
  Loose,
  Rev,
  Selector,
  Stub,
} from '@settledb/core';
import type { AnyContent } from './options';

/** A {@link FindRequest} for documents with this content. */
export type FindOptions<
  Content extends object = AnyContent,
  Path extends FieldPath<Content> = FieldPath<Content>,
> = Omit<FindRequest, 'selector' | 'sort' | 'fields'> & {
  selector: TypedSelector<Content>;
  /** The paths that the answer has. Default: whole documents. */
  fields?: readonly Path[] | undefined;
  /** Documents that lack one of these fields are left out. */
  sort?: readonly TypedSort<Content>[] | undefined;
};

/** The fields of an index of documents with this content. */
export type IndexOptions<Content extends object = AnyContent> = Omit<
  IndexFields,
  'fields' | 'partial_filter_selector'
> & {
  fields: readonly TypedSort<Content>[];
  /** Only documents that match are in the index; it is used only where `use_index` names it. */
  partial_filter_selector?: TypedSelector<Content> | undefined;
};

type TypedSort<Content extends object> =
  | FieldPath<Content>
  | { readonly [path in FieldPath<Content>]?: 'asc' | 'desc' };

/** What a find answers: whole documents, or those fields of each that `fields` names. */
export type Found<Content extends object = AnyContent, Path extends string = never> = Omit<
  FindResult,
  'docs'
> & {
  readonly docs: readonly FoundDoc<Content, Path>[];
};

/** Whole documents if any path may be meant, as in a request made beforehand, or if the content is not described. */
type FoundDoc<Content extends object, Path extends string> = [Path] extends [never]
  ? ExistingDoc<Content>
  : FieldPath<Content> extends Path
    ? ExistingDoc<Content>
    : string extends keyof Content
      ? ExistingDoc<Content>
      : Parts<ExistingDoc<Content>, Path>;

/** The fields of an object with these paths: `'a'`, or in inner objects `'a.b'`. */
type Parts<Fields, Path extends string> = Fields extends unknown
  ? { [Name in keyof Fields as Name & Head<Path>]: Part<Fields[Name], Path, Name & string> }
  : never;
/** A value that is not an object has no fields, and is left out. A list becomes an object with some of its places. */
type Part<Value, Path extends string, Name extends string> = Name extends Path
  ? Value
  : string extends Name
    ? NamedPart<Value, Path>
    : Value extends readonly unknown[]
      ? Loose
      : Value extends object
        ? Kept<Value, Parts<Value, Tail<Path, Name>>>
        : undefined;
/** For an object that may have any names. */
type NamedPart<Value, Path extends string> = Path extends `${string}.${string}` ? Loose : Value | undefined;
/** An object of which nothing may be left is left out itself. */
type Kept<Whole, Left> =
  | Left
  | (string extends keyof Whole ? undefined : [Sure<Left>] extends [never] ? undefined : never);
type Sure<Fields> = { [Name in keyof Fields]-?: undefined extends Fields[Name] ? never : Name }[keyof Fields];
type Head<Path extends string> = Path extends `${infer Name}.${string}` ? Name : Path;
type Tail<Path extends string, Name extends string> = Path extends `${Name}.${infer Rest}` ? Rest : never;

/**
 * A selector for documents with this content. If that is a union, each selector is for one of its members, or for some:
 * `{ type: { $in: ['note', 'task'] } }`. In a dotted path the first name is checked.
 */
export type TypedSelector<Content extends object> = SelectorAmong<Content, Content>;

/** Each of combined selectors may be for another member of `All`. */
type SelectorAmong<Content extends object, All extends object> = Content extends unknown
  ? string extends keyof Content
    ? Selector
    : (FieldConditions<Content & Meta> | AcrossConditions<Content, All>) & Combined<All>
  : never;

/** Conditions on documents of several kinds. */
type AcrossConditions<Content, All> = [All] extends [Content]
  ? never
  : { [name in Names<All>]?: Condition<NonNullable<FieldOf<All & Meta, name>>> | undefined };
/** The type of a field in any of the kinds that have it. */
type FieldOf<All, Name> = All extends unknown ? (Name extends keyof All ? All[Name] : never) : never;

/** The database's own fields that a query sees; `_conflicts` with the option, or in the filter of an index. */
interface Meta {
  readonly _id: string;
  readonly _rev: Rev;
  readonly _attachments: Readonly<Record<string, Stub>>;
  readonly _conflicts: readonly Rev[];
}

// Each has a name, by which the compiler's messages call it.
type Combined<Content extends object> = Combinations<Content> & PathConditions<Content>;

/** Selectors within a selector. */
export type Combinations<Content extends object> = {
  $and?: readonly TypedSelector<Content>[] | undefined;
  $or?: readonly TypedSelector<Content>[] | undefined;
  $nor?: readonly TypedSelector<Content>[] | undefined;
  $not?: TypedSelector<Content> | undefined;
};

/** Only the first name of a path is checked, and no name that has a dot in it (`'a\\.b'`). */
type PathConditions<Content> = {
  [path in `${Names<Content>}.${string}` | `${string}\\.${string}`]?: unknown;
};

/** `undefined` as a condition asks for nothing. The content's own `readonly` would keep conditions from being added later. */
type FieldConditions<Fields> = {
  -readonly [name in keyof Fields]?: Condition<NonNullable<Fields[name]>> | undefined;
};

/** A value, or conditions on it; for an object also conditions on its fields. */
type Condition<Value> =
  | Value
  | null
  | Operators<Value>
  | (Value extends readonly unknown[] ? never : Value extends object ? FieldConditions<Value> : never);

type Element<Value> = Value extends readonly (infer Each)[] ? Each : Value;
type TypeName = 'null' | 'boolean' | 'number' | 'string' | 'array' | 'object';

/** CouchDB's operators. Comparing with `null` asks for what sorts after it: everything that is there. */
export interface Operators<Value> {
  $eq?: Value | null | undefined;
  /** Something else is there: not true of a field that is absent. */
  $ne?: Value | null | undefined;
  /** Sorts after it, in the order of keys: null, false, true, numbers, texts by code unit, lists, objects. */
  $gt?: Value | null | undefined;
  $gte?: Value | null | undefined;
  $lt?: Value | null | undefined;
  $lte?: Value | null | undefined;
  /** One of these is the value, or, of a list, an element. */
  $in?: readonly (Element<Value> | null)[] | undefined;
  /** None of these is the value, or, of a list, an element. Not true of a field that is absent. */
  $nin?: readonly (Element<Value> | null)[] | undefined;
  /** A list that has all of these elements. */
  $all?: readonly Element<Value>[] | undefined;
  /** `false`: the field is absent. A field that is `null` is there. */
  $exists?: boolean | undefined;
  $type?: TypeName | undefined;
  /** A list of so many elements. */
  $size?: number | undefined;
  /** A whole number that leaves this remainder; a negative one leaves a negative one. */
  $mod?: readonly [divisor: number, remainder: number] | undefined;
  /** A text that the pattern matches anywhere. `(?i)` at the front of a text is understood, as the flag of a RegExp. */
  $regex?: string | RegExp | undefined;
  $beginsWith?: string | undefined;
  /** A list of which some element fulfils these conditions. */
  $elemMatch?: (Condition<Element<Value>> & object) | undefined;
  /** A list, not an empty one, all of whose elements fulfil these conditions. */
  $allMatch?: (Condition<Element<Value>> & object) | undefined;
  /** An object of which some name fulfils these conditions. */
  $keyMapMatch?: Operators<string> | undefined;
  /** Not true of a field that is absent, as all but `$exists: false`. */
  $not?: Operators<Value> | undefined;
  $and?: readonly Operators<Value>[] | undefined;
  $or?: readonly Operators<Value>[] | undefined;
  $nor?: readonly Operators<Value>[] | undefined;
}

/** A field, or a path that begins with one. */
export type FieldPath<Content extends object> = string extends keyof Content
  ? string
  : Names<Content> | `${Names<Content>}.${string}`;
type Names<Content> = Content extends unknown ? (keyof Content & string) | keyof Meta : never;
