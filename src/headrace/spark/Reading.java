package headrace;

import java.io.IOException;
import java.io.StringWriter;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.analysis.FunctionRegistry$;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute;
import org.apache.spark.sql.catalyst.analysis.UnresolvedFunction;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.analysis.UnresolvedStar;
import org.apache.spark.sql.catalyst.expressions.*;
import org.apache.spark.sql.catalyst.expressions.aggregate.*;
import org.apache.spark.sql.catalyst.plans.logical.*;
import org.apache.spark.sql.catalyst.trees.Origin;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.catalyst.util.IntervalUtils$;
import org.apache.spark.sql.internal.SQLConf$;
import org.apache.spark.sql.internal.SessionState;
import org.apache.spark.sql.types.*;
import org.apache.spark.unsafe.types.CalendarInterval;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * What Spark's parser and analyzer say of one statement, told as JSON, and its expressions written
 * as SQL again. Spark's own compiler for generated code compiles this class when a session begins.
 *
 * Columns that an operator computes are replaced by what they are computed from, so that every
 * expression is told over the columns of the stream, the window and the aggregate calls.
 */
public final class Reading {
  private static final String RAW = "__headrace_raw_";
  private static final String WINDOW = "__hr_w";
  /** So many nodes more may expressions have once columns are replaced by what they are made of. */
  private static final long MOST_ADDED = 5000;
  private final String text;
  private final List numbered = new ArrayList();
  private final Map same = new HashMap();
  private final Map computed = new HashMap();
  private final Map sizes = new HashMap();
  private long added = 0;
  private final Map declared = new HashMap();
  private final Map sideOf = new HashMap();
  private final Map windows = new HashMap();
  private final List sides = new ArrayList();
  private boolean aboveJoin = false;
  /** Whether NULLs stand for tuples that are not there. */
  private boolean fills = false;
  private final Map standsOverStream = new HashMap();
  private final Map standsOverResults = new HashMap();
  private final List claimsOverStream = new ArrayList();
  private final List claimsOverResults = new ArrayList();
  private JsonGenerator out;
  private String refusal = "";
  private boolean plainly = true;

  public Reading(String text) {
    this.text = text;
  }

  // -- telling a plan ---------------------------------------------------------------------------

  /** The plan as the parser gives it, before any name is looked up; or why there is none. */
  public String parsed(SessionState state) {
    return (String) within(state, new Asked(state, null));
  }

  /**
   * The operators of the analyzed plan from the top down, and what its columns are made of. What
   * stands for the windows of relations is told as a JSON object, or nothing does.
   */
  public String analyzed(SessionState state, boolean plainly, String windowed) {
    this.plainly = plainly;
    return (String) within(state, new Asked(state, windowed));
  }

  /** Spark reads its settings from the thread: they have to be those of the session. */
  private static Object within(SessionState state, scala.Function0 asked) {
    return SQLConf$.MODULE$.withExistingConf(state.conf(), asked);
  }

  private final class Asked extends scala.runtime.AbstractFunction0 {
    private final SessionState state;
    private final String windowed;

    /** Without a word of windows, as it is parsed. */
    Asked(SessionState state, String windowed) {
      this.state = state;
      this.windowed = windowed;
    }

    public Object apply() {
      try {
        LogicalPlan plan = state.sqlParser().parsePlan(text);
        if (windowed == null) return told(plan, begin());
        if (windowed.length() > 0) plan = withWindows(plan, state, windowed);
        return told(state.executePlan(plan, state.executePlan$default$2()).analyzed());
      } catch (Throwable error) {
        return refused(error);
      }
    }
  }

  /**
   * A parsed plan in which every relation has a column with its window, and some expressions are
   * that column. Told are: by number, the time of every relation; and by their place in the text,
   * the number of the relation whose window a call or a name stands for.
   */
  private static LogicalPlan withWindows(LogicalPlan plan, SessionState state, String told)
      throws Exception {
    Map given = (Map) new ObjectMapper().readValue(told, Map.class);
    List times = (List) given.get("times");
    List columns = new ArrayList();
    for (int i = 0; i < times.size(); i++) {
      String call = "window(`" + ((String) times.get(i)).replace("`", "``") + "`, '1 day')";
      columns.add(named(state.sqlParser().parseExpression(call), WINDOW + i));
    }
    Map places = (Map) given.get("places");
    LogicalPlan named = (LogicalPlan) plan.transformAllExpressions(new Standing(places));
    return widened(named, columns.iterator());
  }

  private static LogicalPlan widened(LogicalPlan plan, Iterator columns) {
    if (!joins(plan)) {
      List shown = new ArrayList();
      shown.add(new UnresolvedStar(scala.Option.empty()));
      shown.add(columns.next());
      return new Project(toSeq(shown), plan);
    }
    List children = new ArrayList();
    for (int i = 0; i < plan.children().size(); i++) {
      children.add(widened((LogicalPlan) plan.children().apply(i), columns));
    }
    return (LogicalPlan) plan.withNewChildren(toSeq(children));
  }

  private static boolean joins(LogicalPlan plan) {
    if (plan instanceof Join) return true;
    for (int i = 0; i < plan.children().size(); i++) {
      if (joins((LogicalPlan) plan.children().apply(i))) return true;
    }
    return false;
  }

  /** Columns in the place of calls and names, by where they begin. */
  private static final class Standing extends scala.runtime.AbstractPartialFunction {
    private final Map places;

    Standing(Map places) {
      this.places = places;
    }

    public boolean isDefinedAt(Object e) {
      return (e instanceof UnresolvedFunction || e instanceof UnresolvedAttribute)
          && ((Expression) e).origin().startIndex().isDefined()
          && places.containsKey(((Expression) e).origin().startIndex().get().toString());
    }

    public Object applyOrElse(Object e, scala.Function1 otherwise) {
      if (!isDefinedAt(e)) return otherwise.apply(e);
      List parts = new ArrayList();
      parts.add(WINDOW + places.get(((Expression) e).origin().startIndex().get().toString()));
      if (e instanceof UnresolvedAttribute) {
        scala.collection.Seq names = ((UnresolvedAttribute) e).nameParts();
        for (int i = 1; i < names.size(); i++) parts.add(names.apply(i));
      }
      return new UnresolvedAttribute(toSeq(parts));
    }
  }

  private String told(LogicalPlan parsed, StringWriter written) throws Exception {
    tellPlan(parsed);
    out.close();
    return written.toString();
  }

  private String refused(Throwable error) {
    try {
      return toldRefusal(error);
    } catch (Exception impossible) {
      throw new IllegalStateException(impossible);
    }
  }

  private String toldRefusal(Throwable error) throws Exception {
    StringWriter written = begin();
    out.writeStartObject();
    out.writeObjectFieldStart("error");
    out.writeStringField("kind", error.getClass().getSimpleName());
    if (error instanceof AnalysisException) {
      AnalysisException analysis = (AnalysisException) error;
      out.writeStringField("message", analysis.getSimpleMessage());
      if (analysis.getCondition() != null) {
        out.writeStringField("condition", analysis.getCondition());
      }
      Object named = analysis.getMessageParameters().get("objectName");
      if (named != null) out.writeStringField("named", String.valueOf(named));
      if (analysis.line().isDefined() && analysis.startPosition().isDefined()) {
        out.writeNumberField("line", ((Integer) analysis.line().get()).intValue());
        out.writeNumberField("column", ((Integer) analysis.startPosition().get()).intValue() + 1);
      }
    } else {
      out.writeStringField("message", String.valueOf(error.getMessage()));
    }
    out.writeEndObject();
    out.writeEndObject();
    out.close();
    return written.toString();
  }

  private String told(LogicalPlan plan) throws Exception {
    Branch branch = read(plan);
    StringWriter written = begin();
    out.writeStartObject();
    tell(branch);
    out.writeArrayFieldStart("outputs");
    for (int i = 0; i < plan.output().size(); i++) {
      Attribute attribute = (Attribute) plan.output().apply(i);
      out.writeStartObject();
      out.writeStringField("name", attribute.name());
      out.writeFieldName("expression");
      tell(inlined(attribute));
      out.writeEndObject();
    }
    out.writeEndArray();
    out.writeEndObject();
    out.close();
    return written.toString();
  }

  /** Operators above each other, down to a relation or to where two branches are joined. */
  private static final class Branch {
    final List chain = new ArrayList();
    final List expressions = new ArrayList();
    Branch left = null;
    Branch right = null;
    Expression condition = null;
    int side = -1;
  }

  /** A relation and the window over it. */
  private static final class Side {
    LogicalPlan relation = null;
    Expression window = null;
  }

  /** From the leaves up, because what an operator computes is used above it. */
  private Branch read(LogicalPlan plan) {
    Branch branch = new Branch();
    LogicalPlan at = plan;
    branch.chain.add(at);
    while (at.children().size() == 1) {
      at = (LogicalPlan) at.children().apply(0);
      branch.chain.add(at);
    }
    if (at instanceof Join) {
      branch.left = read(((Join) at).left());
      branch.right = read(((Join) at).right());
      fills |= ((Join) at).joinType().toString().endsWith("Outer");
      if (((Join) at).condition().isDefined()) {
        branch.condition = inlined((Expression) ((Join) at).condition().get());
      }
    } else {
      branch.side = sides.size();
      Side side = new Side();
      side.relation = at;
      sides.add(side);
      for (int i = 0; i < at.output().size(); i++) {
        Attribute column = (Attribute) at.output().apply(i);
        declared.put(column.exprId(), column.name());
        sideOf.put(column.exprId(), Integer.valueOf(branch.side));
      }
    }
    aboveJoin = branch.left != null;
    for (int i = branch.chain.size() - 1; i >= 0; i--) {
      LogicalPlan operator = (LogicalPlan) branch.chain.get(i);
      branch.expressions.add(0, operator instanceof Join ? new ArrayList() : inlined(operator));
    }
    return branch;
  }

  private void tell(Branch branch) throws Exception {
    List chain = branch.chain;
    out.writeArrayFieldStart("operators");
    for (int i = 0; i < chain.size(); i++) {
      LogicalPlan operator = (LogicalPlan) chain.get(i);
      out.writeStartObject();
      out.writeStringField("kind", kind(operator));
      tellPlace(operator);
      if (operator.children().size() > 1) out.writeBooleanField("branches", true);
      int told = 0; // the columns of a projection are told where they are used
      List own = (List) branch.expressions.get(i);
      if (operator instanceof Aggregate) {
        told = ((Aggregate) operator).groupingExpressions().size();
      } else if (!(operator instanceof Project) && operator.children().size() > 0) {
        told = own.size();
      }
      out.writeArrayFieldStart("expressions");
      for (int j = 0; j < told; j++) tell((Expression) own.get(j));
      out.writeEndArray();
      out.writeEndObject();
    }
    out.writeEndArray();
    if (branch.left == null) {
      tellSide(branch.side);
      return;
    }
    out.writeStringField("how", ((Join) chain.get(chain.size() - 1)).joinType().toString());
    if (branch.condition != null) {
      out.writeFieldName("condition");
      tell(branch.condition);
    }
    out.writeObjectFieldStart("left");
    tell(branch.left);
    out.writeEndObject();
    out.writeObjectFieldStart("right");
    tell(branch.right);
    out.writeEndObject();
  }

  private void tellSide(int number) throws Exception {
    Side side = (Side) sides.get(number);
    if (number > 0) out.writeNumberField("side", number);
    if (side.window == null) return;
    out.writeArrayFieldStart("window_over");
    scala.collection.Iterator over = side.window.references().iterator();
    while (over.hasNext()) out.writeString(((Attribute) over.next()).name());
    out.writeEndArray();
  }

  private StringWriter begin() throws Exception {
    StringWriter written = new StringWriter();
    out = new JsonFactory().createGenerator(written);
    return written;
  }

  private void tellPlan(LogicalPlan plan) throws Exception {
    out.writeStartObject();
    out.writeStringField("kind", kind(plan));
    tellPlace(plan);
    if (plan instanceof UnresolvedRelation) {
      tellNames(((UnresolvedRelation) plan).multipartIdentifier());
      out.writeBooleanField("options", !((UnresolvedRelation) plan).options().isEmpty());
    }
    if (plan instanceof SubqueryAlias) {
      out.writeArrayFieldStart("names");
      out.writeString(((SubqueryAlias) plan).alias());
      out.writeEndArray();
    }
    if (plan instanceof Sort) out.writeBooleanField("global", ((Sort) plan).global());
    out.writeArrayFieldStart("expressions");
    for (int i = 0; i < plan.expressions().size(); i++) {
      tell((Expression) plan.expressions().apply(i));
    }
    out.writeEndArray();
    out.writeArrayFieldStart("children");
    for (int i = 0; i < plan.children().size(); i++) {
      tellPlan((LogicalPlan) plan.children().apply(i));
    }
    out.writeEndArray();
    out.writeEndObject();
  }

  private void tell(Expression e) throws Exception {
    out.writeStartObject();
    out.writeNumberField("number", numbered.size());
    numbered.add(e);
    out.writeStringField("kind", isWindow(e) ? "Window" : kind(e));
    tellPlace(e);
    String type = typeOf(e);
    if (type != null) {
      out.writeStringField("type", type);
      out.writeNumberField("same", sameAs(e));
      if (!e.deterministic()) out.writeBooleanField("varies", true);
      if (fills && "boolean".equals(type) && holdsOfNulls(e)) {
        out.writeBooleanField("holds_of_nulls", true);
      }
    }
    if (e instanceof NamedExpression && type != null) {
      out.writeStringField("name", ((NamedExpression) e).name());
      Object side = isWindow(e) ? windows.get(idOf(e)) : sideOf.get(idOf(e));
      if (side != null && ((Integer) side).intValue() > 0) {
        out.writeNumberField("side", ((Integer) side).intValue());
      }
    }
    if (e instanceof UnresolvedFunction) {
      UnresolvedFunction called = (UnresolvedFunction) e;
      tellNames(called.nameParts());
      String last = (String) called.nameParts().last();
      boolean known = FunctionRegistry$.MODULE$.builtin().functionExists(FunctionIdentifier.apply(last));
      out.writeBooleanField("builtin", known);
    }
    if (e instanceof UnresolvedAttribute) tellNames(((UnresolvedAttribute) e).nameParts());
    if (e instanceof GetStructField) {
      out.writeNumberField("ordinal", ((GetStructField) e).ordinal());
    }
    if (e instanceof AggregateExpression) {
      out.writeBooleanField("distinct", ((AggregateExpression) e).isDistinct());
    }
    if (e instanceof SortOrder) {
      SortOrder order = (SortOrder) e;
      out.writeStringField("name", order.direction().sql() + " " + order.nullOrdering().sql());
    }
    if (e instanceof First) out.writeBooleanField("ignore_nulls", ((First) e).ignoreNulls());
    if (e instanceof Last) out.writeBooleanField("ignore_nulls", ((Last) e).ignoreNulls());
    if (e instanceof HyperLogLogPlusPlus) {
      out.writeNumberField("relative_sd", ((HyperLogLogPlusPlus) e).relativeSD());
    }
    if (e instanceof PythonFuncExpression) {
      out.writeStringField("name", ((PythonFuncExpression) e).name());
    } else if (e instanceof AggregateFunction) {
      out.writeStringField("name", e.prettyName());
    }
    tellMode(e);
    if (isConstant(e)) tellValue(e);
    if (e instanceof Literal && ((Literal) e).value() instanceof UTF8String) {
      tellDuration((UTF8String) ((Literal) e).value());
    }
    out.writeArrayFieldStart("children");
    List inside = partsOf(e);
    for (int i = 0; i < inside.size(); i++) tell((Expression) inside.get(i));
    out.writeEndArray();
    out.writeEndObject();
  }

  /** Whether a condition is TRUE where all columns are NULL. */
  private static boolean holdsOfNulls(Expression e) {
    try {
      Object found = ((Expression) e.transformUp(new Nothing())).eval(null);
      return Boolean.TRUE.equals(found);
    } catch (Throwable raised) {
      return false;
    }
  }

  private static final class Nothing extends scala.runtime.AbstractPartialFunction {
    public boolean isDefinedAt(Object e) {
      return e instanceof AttributeReference;
    }

    public Object applyOrElse(Object e, scala.Function1 otherwise) {
      return isDefinedAt(e)
          ? new Literal(null, ((AttributeReference) e).dataType())
          : otherwise.apply(e);
    }
  }

  /** Its type; parts of some expressions have none. */
  private static String typeOf(Expression e) {
    try {
      return e.resolved() ? e.dataType().catalogString() : null;
    } catch (Throwable none) {
      return null;
    }
  }

  /** How long a text is, if Spark takes it for a duration of fixed length. */
  private void tellDuration(UTF8String text) throws Exception {
    if (text.numBytes() > 200) return;
    CalendarInterval interval = IntervalUtils$.MODULE$.safeStringToInterval(text);
    if (interval != null && interval.months == 0) {
      out.writeNumberField("micros", interval.days * 86400000000L + interval.microseconds);
    }
  }

  private static String kind(TreeNode node) {
    return node.getClass().getSimpleName().replace("$", "");
  }

  private void tellPlace(TreeNode node) throws Exception {
    Origin origin = node.origin();
    if (origin.startIndex().isDefined() && origin.stopIndex().isDefined()) {
      out.writeArrayFieldStart("span");
      out.writeNumber(((Integer) origin.startIndex().get()).intValue());
      out.writeNumber(((Integer) origin.stopIndex().get()).intValue() + 1);
      out.writeEndArray();
    }
  }

  private void tellNames(scala.collection.Seq names) throws Exception {
    out.writeArrayFieldStart("names");
    for (int i = 0; i < names.size(); i++) out.writeString((String) names.apply(i));
    out.writeEndArray();
  }

  /** Whether arithmetic and casts raise, wrap around or give NULL. */
  private void tellMode(Expression e) throws Exception {
    java.lang.reflect.Method asked = null;
    try {
      asked = e.getClass().getMethod("evalMode", new Class[0]);
    } catch (NoSuchMethodException absent) {
      try {
        asked = e.getClass().getMethod("failOnError", new Class[0]);
      } catch (NoSuchMethodException alsoAbsent) {
        return;
      }
    }
    out.writeStringField("mode", String.valueOf(asked.invoke(e, new Object[0])));
  }

  private static boolean isConstant(Expression e) {
    if (e instanceof Literal) return true;
    if (!e.resolved()) return false;
    if (!(e instanceof Cast
        || e instanceof UnaryMinus
        || e instanceof CreateArray
        || e instanceof BinaryArithmetic)) {
      return false;
    }
    for (int i = 0; i < e.children().size(); i++) {
      if (!isConstant((Expression) e.children().apply(i))) return false;
    }
    return true;
  }

  private void tellValue(Expression e) throws Exception {
    Object value = null;
    try {
      value = e.eval(null);
    } catch (Throwable raised) {
      return; // it will raise in every batch, too
    }
    out.writeFieldName("value");
    tellValue(value, e.dataType());
  }

  private void tellValue(Object value, DataType type) throws Exception {
    if (value == null) {
      out.writeNull();
    } else if (type instanceof ArrayType) {
      ArrayType array = (ArrayType) type;
      org.apache.spark.sql.catalyst.util.ArrayData data =
          (org.apache.spark.sql.catalyst.util.ArrayData) value;
      out.writeStartArray();
      for (int i = 0; i < data.numElements(); i++) {
        tellValue(data.get(i, array.elementType()), array.elementType());
      }
      out.writeEndArray();
    } else if (value instanceof Boolean) {
      out.writeBoolean(((Boolean) value).booleanValue());
    } else {
      out.writeString(String.valueOf(value));
    }
  }

  // -- what columns are made of -----------------------------------------------------------------

  /** An operator's own expressions over the stream; notes what it computes for those above it. */
  private List inlined(LogicalPlan operator) {
    List own = new ArrayList();
    for (int i = 0; i < operator.expressions().size(); i++) {
      Expression e = (Expression) operator.expressions().apply(i);
      long size = sizeOf(e);
      if (e instanceof Alias) sizes.put(((Alias) e).exprId(), Long.valueOf(size));
      if (!(e instanceof AttributeReference)) added += size - nodesOf(e);
      if (added > MOST_ADDED) throw new TooLarge();
      own.add(inlined(e));
      if (e instanceof Alias) {
        Alias alias = (Alias) e;
        String metadata = alias.metadata().json();
        boolean marked =
            metadata.contains("spark.timeWindow") || metadata.contains("spark.sessionWindow");
        Side side = (Side) sides.get(sides.size() - 1);
        if (marked && !aboveJoin && side.window == null) { // whatever shows the window has its mark, too
          windows.put(alias.exprId(), Integer.valueOf(sides.size() - 1));
          side.window = (Expression) own.get(own.size() - 1);
        } else {
          computed.put(alias.exprId(), own.get(own.size() - 1));
        }
      }
    }
    return own;
  }

  /** How large it is once columns are replaced by what they are computed from. */
  private long sizeOf(Expression e) {
    if (e instanceof AttributeReference) {
      Long known = (Long) sizes.get(((AttributeReference) e).exprId());
      return known == null ? 1 : known.longValue();
    }
    long size = 1;
    for (int i = 0; i < e.children().size(); i++) {
      size += sizeOf((Expression) e.children().apply(i));
    }
    return size;
  }

  private static long nodesOf(Expression e) {
    long nodes = 1;
    for (int i = 0; i < e.children().size(); i++) {
      nodes += nodesOf((Expression) e.children().apply(i));
    }
    return nodes;
  }

  /** A column that is twice the one before it, twenty times over, would be a million of the first. */
  private static final class TooLarge extends RuntimeException {
    TooLarge() {
      super("columns that are made of each other become too large");
    }
  }

  private Expression inlined(Expression e) {
    return (Expression) e.transformDown(new Inline()).transformUp(new Plain(false, plainly));
  }

  private boolean isWindow(Expression e) {
    return e instanceof AttributeReference && windows.containsKey(idOf(e));
  }

  private static Object idOf(Expression e) {
    return ((NamedExpression) e).exprId();
  }

  /** Computed columns to what they are computed from; others by the names they were declared. */
  private final class Inline extends scala.runtime.AbstractPartialFunction {
    public boolean isDefinedAt(Object e) {
      if (!(e instanceof AttributeReference)) return false;
      Object id = ((AttributeReference) e).exprId();
      return computed.containsKey(id) || declared.containsKey(id);
    }

    public Object applyOrElse(Object e, scala.Function1 otherwise) {
      if (!isDefinedAt(e)) return otherwise.apply(e);
      AttributeReference column = (AttributeReference) e;
      Object from = computed.get(column.exprId());
      if (from != null) return from;
      String name = (String) declared.get(column.exprId());
      return column.name().equals(name) ? column : column.withName(name);
    }
  }

  /** Without aliases, and functions that stand for others as those others. */
  private static final class Plain extends scala.runtime.AbstractPartialFunction {
    private final boolean wholly;
    private final boolean plainly;

    /** Wholly: also where what a function stands for cannot be written as SQL. */
    Plain(boolean wholly, boolean plainly) {
      this.wholly = wholly;
      this.plainly = plainly;
    }

    public boolean isDefinedAt(Object e) {
      return e instanceof Alias
          || e instanceof With
          || e instanceof MultiLikeBase
          || (wholly && (isCollatedText(e) || isIdle(e) || isConstantCast(e)))
          || (e instanceof RuntimeReplaceable && (wholly || (plainly && isTransparent(e))));
    }

    public Object applyOrElse(Object e, scala.Function1 otherwise) {
      if (e instanceof Alias) return ((Alias) e).child();
      if (e instanceof With) return withoutNames((With) e);
      if (e instanceof MultiLikeBase) return likes((MultiLikeBase) e);
      if (isCollatedText(e)) {
        Literal text = (Literal) ((Collate) e).child();
        return new Literal(text.value(), ((Collate) e).dataType());
      }
      if (wholly && isIdle(e)) return ((Cast) e).child();
      if (wholly && isConstantCast(e)) return folded((Cast) e);
      if (isDefinedAt(e)) return ((RuntimeReplaceable) e).replacement();
      return otherwise.apply(e);
    }
  }

  /** A cast of a value to the type that it has. */
  private static boolean isIdle(Object e) {
    return e instanceof Cast && ((Cast) e).dataType().equals(((Cast) e).child().dataType());
  }

  private static boolean isConstantCast(Object e) {
    return e instanceof Cast && isConstant((Cast) e);
  }

  /** A constant of some types is written as a cast. */
  private static Expression folded(Cast e) {
    try {
      return new Literal(e.eval(null), e.dataType());
    } catch (Throwable raised) {
      return e;
    }
  }

  /** A text with a collation is written as a call, though it is a constant. */
  private static boolean isCollatedText(Object e) {
    return e instanceof Collate && ((Collate) e).child() instanceof Literal;
  }

  /** What is named once and used several times, written where it is used. */
  private static Expression withoutNames(With with) {
    final Map named = new HashMap();
    for (int i = 0; i < with.defs().size(); i++) {
      CommonExpressionDef def = (CommonExpressionDef) with.defs().apply(i);
      named.put(def.id(), def.child());
    }
    return (Expression) with.child().transformUp(new Named(named));
  }

  private static final class Named extends scala.runtime.AbstractPartialFunction {
    private final Map named;

    Named(Map named) {
      this.named = named;
    }

    public boolean isDefinedAt(Object e) {
      return e instanceof CommonExpressionRef && named.containsKey(((CommonExpressionRef) e).id());
    }

    public Object applyOrElse(Object e, scala.Function1 otherwise) {
      return isDefinedAt(e) ? named.get(((CommonExpressionRef) e).id()) : otherwise.apply(e);
    }
  }

  /** LIKE ANY and LIKE ALL hold their patterns inside: as single LIKEs they can be written. */
  private static Expression likes(MultiLikeBase e) {
    boolean negated = e instanceof NotLikeAll || e instanceof NotLikeAny;
    boolean all = e instanceof LikeAll || e instanceof NotLikeAll;
    Expression found = null;
    for (int i = 0; i < e.patterns().size(); i++) {
      Expression child = (Expression) e.children().apply(0);
      Expression pattern = new Literal(e.patterns().apply(i), child.dataType());
      Expression one = new Like(child, pattern, '\\');
      if (negated) one = new Not(one);
      if (found == null) found = one;
      else found = all ? (Expression) new And(found, one) : (Expression) new Or(found, one);
    }
    return found;
  }

  /** Whether what a function stands for can be written as SQL. */
  private static boolean isTransparent(Object e) {
    return !(e instanceof AggregateFunction)
        && !hidesCalls(((RuntimeReplaceable) e).replacement());
  }

  private static boolean hidesCalls(Expression e) {
    if (e.getClass().getName().contains(".expressions.objects.")) return true;
    for (int i = 0; i < e.children().size(); i++) {
      if (hidesCalls((Expression) e.children().apply(i))) return true;
    }
    return false;
  }

  /** The arguments a user wrote. */
  private static List partsOf(Expression e) {
    scala.collection.Seq found = e.children();
    if (e instanceof InheritAnalysisRules) found = ((InheritAnalysisRules) e).parameters();
    List parts = new ArrayList();
    for (int i = 0; i < found.size(); i++) parts.add(found.apply(i));
    return parts;
  }

  private int sameAs(Expression e) {
    Object canonical = e.canonicalized();
    Object known = same.get(canonical);
    if (known == null) {
      known = Integer.valueOf(same.size());
      same.put(canonical, known);
    }
    return ((Integer) known).intValue();
  }

  // -- writing expressions ----------------------------------------------------------------------

  /**
   * An expression as SQL over the columns of the stream, or else over columns of results: where the
   * expressions with some numbers stand as columns by name, told as a JSON object.
   */
  public String sql(int number, String standing, boolean overStream) throws IOException {
    IdentityHashMap exactly = new IdentityHashMap();
    Map alike = new HashMap();
    Map names = (Map) new ObjectMapper().readValue(standing, Map.class);
    for (Iterator i = names.entrySet().iterator(); i.hasNext(); ) {
      Map.Entry entry = (Map.Entry) i.next();
      Expression e = (Expression) numbered.get(Integer.parseInt((String) entry.getKey()));
      Expression column = column((String) entry.getValue(), e, overStream);
      if (e instanceof Literal) exactly.put(e, column);
      else alike.put(e.canonicalized(), column);
    }
    Expression e = (Expression) numbered.get(number);
    String sql = written(e, exactly, alike);
    Claim claim = new Claim();
    claim.number = number;
    claim.sql = sql;
    claim.meant = (Expression) e.transformDown(new Stand(exactly, alike));
    (overStream ? claimsOverStream : claimsOverResults).add(claim);
    return sql;
  }

  /**
   * The number of the first expression whose SQL Spark does not read as that expression, or -1. Some
   * are written in a way that loses a part of them, and nobody lists which.
   */
  public int unfaithful(SessionState state) {
    return ((Integer) within(state, new Doubt(state))).intValue();
  }

  private final class Doubt extends scala.runtime.AbstractFunction0 {
    private final SessionState state;

    Doubt(SessionState state) {
      this.state = state;
    }

    public Object apply() {
      return Integer.valueOf(firstUnfaithful(state));
    }
  }

  private int firstUnfaithful(SessionState state) {
    for (int number = 0; number < sides.size(); number++) {
      List columns = new ArrayList(standsOverStream.values());
      LogicalPlan relation = ((Side) sides.get(number)).relation;
      for (int i = 0; i < relation.output().size(); i++) columns.add(relation.output().apply(i));
      List claims = new ArrayList();
      for (int i = 0; i < claimsOverStream.size(); i++) {
        if (sideOf(((Claim) claimsOverStream.get(i)).meant) == number) {
          claims.add(claimsOverStream.get(i));
        }
      }
      int found = unfaithful(state, claims, columns);
      if (found >= 0) return found;
    }
    return unfaithful(state, claimsOverResults, new ArrayList(standsOverResults.values()));
  }

  /** The side whose columns an expression reads; the first if it reads none. */
  private int sideOf(Expression e) {
    scala.collection.Iterator read = e.references().iterator();
    while (read.hasNext()) {
      Object side = sideOf.get(((Attribute) read.next()).exprId());
      if (side != null) return ((Integer) side).intValue();
    }
    return 0;
  }

  /** Why the last expression was not read back. */
  public String refusal() {
    return refusal;
  }

  private int unfaithful(SessionState state, List claims, List columns) {
    if (claims.isEmpty()) return -1;
    List named = new ArrayList();
    try {
      for (int i = 0; i < claims.size(); i++) {
        String sql = ((Claim) claims.get(i)).sql;
        named.add(alias(state.sqlParser().parseExpression(sql)));
      }
      LogicalPlan over =
          new LocalRelation(toSeq(columns), toSeq(new ArrayList()), false, scala.Option.empty());
      LogicalPlan plan = new Project(toSeq(named), over);
      Project read =
          (Project) state.executePlan(plan, state.executePlan$default$2()).analyzed();
      for (int i = 0; i < claims.size(); i++) {
        Claim claim = (Claim) claims.get(i);
        Expression found = (Expression) read.projectList().apply(i);
        if (!canonical(claim.meant).equals(canonical(found))) {
          refusal = canonical(claim.meant) + " / " + canonical(found);
          return claim.number;
        }
      }
      return -1;
    } catch (Throwable refused) {
      refusal = String.valueOf(refused);
      if (claims.size() == 1) return ((Claim) claims.get(0)).number;
      for (int i = 0; i < claims.size(); i++) {
        int found = unfaithful(state, claims.subList(i, i + 1), columns);
        if (found >= 0) return found;
      }
      return ((Claim) claims.get(0)).number;
    }
  }

  private static Expression alias(Expression e) {
    return named(e, "e");
  }

  private static Expression named(Expression e, String name) {
    return new Alias(
        e,
        name,
        NamedExpression$.MODULE$.newExprId(),
        toSeq(new ArrayList()),
        scala.Option.empty(),
        toSeq(new ArrayList()));
  }

  /** An expression without anything that does not change its meaning. */
  private static Expression canonical(Expression e) {
    return ((Expression) e.transformUp(new Plain(true, true))).canonicalized();
  }

  private static scala.collection.immutable.Seq toSeq(List items) {
    return scala.jdk.javaapi.CollectionConverters.asScala(items).toList();
  }

  private Expression column(String name, Expression e, boolean overStream) {
    Map stands = overStream ? standsOverStream : standsOverResults;
    AttributeReference known = (AttributeReference) stands.get(name);
    if (known == null) {
      known = attribute(name, e);
      stands.put(name, known);
    }
    return known;
  }

  private static AttributeReference attribute(String name, Expression e) {
    return new AttributeReference(
        name,
        e.dataType(),
        true,
        Metadata.empty(),
        NamedExpression$.MODULE$.newExprId(),
        toSeq(new ArrayList()));
  }

  private String written(Expression e, IdentityHashMap exactly, Map alike) {
    List raw = new ArrayList();
    Write write = new Write(exactly, alike, raw);
    String sql = ((Expression) e.transformDown(write)).sql();
    for (int i = raw.size() - 1; i >= 0; i--) {
      sql = sql.replace(RAW + i + "__", (String) raw.get(i));
    }
    return sql;
  }

  private static final class Claim {
    int number;
    String sql;
    Expression meant;
  }

  /** Columns in the place of some expressions. */
  private static class Stand extends scala.runtime.AbstractPartialFunction {
    private final IdentityHashMap exactly;
    private final Map alike;

    Stand(IdentityHashMap exactly, Map alike) {
      this.exactly = exactly;
      this.alike = alike;
    }

    public boolean isDefinedAt(Object node) {
      return standsFor((Expression) node) != null;
    }

    public Object applyOrElse(Object node, scala.Function1 otherwise) {
      Object found = standsFor((Expression) node);
      return found != null ? found : otherwise.apply(node);
    }

    final Object standsFor(Expression e) {
      if (exactly.containsKey(e)) return exactly.get(e);
      return e.resolved() ? alike.get(e.canonicalized()) : null;
    }
  }

  /** The same, and names without their stream; text in the place of what cannot be written. */
  private final class Write extends scala.runtime.AbstractPartialFunction {
    private final IdentityHashMap exactly;
    private final Map alike;
    private final Stand stand;
    private final List raw;

    Write(IdentityHashMap exactly, Map alike, List raw) {
      this.exactly = exactly;
      this.alike = alike;
      this.stand = new Stand(exactly, alike);
      this.raw = raw;
    }

    public boolean isDefinedAt(Object e) {
      return stand.isDefinedAt(e)
          || e instanceof AttributeReference
          || e instanceof InheritAnalysisRules
          || e instanceof Collate
          || e instanceof CreateNamedStruct
          || e instanceof HigherOrderFunction;
    }

    public Object applyOrElse(Object node, scala.Function1 otherwise) {
      Expression e = (Expression) node;
      if (stand.isDefinedAt(e)) return stand.standsFor(e);
      if (e instanceof Collate) {
        Collate collate = (Collate) e;
        String name = collate.collation().sql().replace("`", "").replace("'", "");
        name = name.substring(name.lastIndexOf('.') + 1);
        return raw("(" + written(collate.child(), exactly, alike) + " COLLATE " + name + ")", e);
      }
      if (e instanceof AttributeReference) {
        return ((AttributeReference) e).withQualifier(toSeq(new ArrayList()));
      }
      if (e instanceof CreateNamedStruct) {
        // As struct(…) it is written without the names of its fields, which may not be the columns'.
        List parts = new ArrayList();
        for (int i = 0; i < e.children().size(); i++) {
          parts.add(written((Expression) e.children().apply(i), exactly, alike));
        }
        return raw("named_struct(" + String.join(", ", parts) + ")", e);
      }
      if (e instanceof InheritAnalysisRules) {
        List parts = new ArrayList();
        scala.collection.Seq given = ((InheritAnalysisRules) e).parameters();
        for (int i = 0; i < given.size(); i++) {
          parts.add(written((Expression) given.apply(i), exactly, alike));
        }
        return raw(((InheritAnalysisRules) e).makeSQLString(toSeq(parts)), e);
      }
      if (e instanceof HigherOrderFunction && e.origin().startIndex().isDefined()) {
        // The names of a lambda's variables are lost in the plan: the user's own words are not.
        int start = ((Integer) e.origin().startIndex().get()).intValue();
        int stop = ((Integer) e.origin().stopIndex().get()).intValue();
        int from = text.offsetByCodePoints(0, start); // places count letters, strings do not
        return raw(text.substring(from, text.offsetByCodePoints(from, stop + 1 - start)), e);
      }
      return otherwise.apply(e);
    }

    private Expression raw(String sql, Expression e) {
      raw.add(sql);
      return attribute(RAW + (raw.size() - 1) + "__", e);
    }
  }
}
