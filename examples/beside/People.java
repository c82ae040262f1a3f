import static org.drools.model.DSL.declarationOf;
import static org.drools.model.DSL.not;
import static org.drools.model.DSL.on;
import static org.drools.model.PatternDSL.pattern;
import static org.drools.model.PatternDSL.rule;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.drools.model.impl.ModelImpl;
import org.drools.modelcompiler.KieBaseBuilder;

/** Who is old, and who is young because nothing says that they are old. */
public class People {
  public record Person(String name) {}

  public record Birth(String name, String day) {
    boolean isEarly() {
      return day.compareTo("1962-01-01") < 0;
    }
  }

  public static void main(String[] arguments) throws Exception {
    var person = declarationOf(Person.class);
    var birth = declarationOf(Birth.class);
    var old =
        rule("old")
            .build(
                pattern(birth).expr(Birth::isEarly),
                on(birth).execute(one -> System.out.println("old " + one.name())));
    var young =
        rule("young")
            .build(
                pattern(person),
                not(
                    pattern(birth)
                        .expr(person, (one, who) -> one.name().equals(who.name()))
                        .expr(Birth::isEarly)),
                on(person).execute(one -> System.out.println("young " + one.name())));
    var model = new ModelImpl().withRules(List.of(old, young));
    var session = KieBaseBuilder.createKieBaseFromModel(model).newKieSession();
    var lines = Files.readAllLines(Path.of("people.csv"));
    for (String line : lines.subList(1, lines.size())) {
      String[] cells = line.split(",");
      session.insert(new Person(cells[0]));
      if (cells.length > 1) {
        session.insert(new Birth(cells[0], cells[1]));
      }
    }
    session.fireAllRules();
    session.dispose();
  }
}
